"""The large networks of `tests.benchmarks`, and the names of what is measured, such as "resnet18 train 16"."""

# network -> the sizes of batches on which it is measured
BATCHES = {
    "resnet18": (1, 16),
    "resnet50": (1, 16),
    "vgg16": (1, 16),
    "mobilenet2": (1, 16),
    "unet": (1, 16),
    "dcgan": (1, 16),
    "wavenet": (1, 16),
    "transformer": (8,),
    "bert": (4,),
}
WARM = 4  # seconds for which a program runs before it is measured
CLASSES = 100
SIZE = 64  # pixels of a side of an image
# The learning rate of the networks for images. With 0.01 they know their few images by heart after 30 steps: gradients
# then fall to 1e-35, products of them are subnormal, and the processor takes up to ten times as long for those.
RATE = 1e-5
# blocks and channels of the four stages of a ResNet, as in the paper
STAGES = {"resnet18": ((2, 2, 2, 2), False), "resnet50": ((3, 4, 6, 3), True)}
CHANNELS = (64, 128, 256, 512)
VGG16 = ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3))  # channels, convolutions
# MobileNet-V2: expansion, channels, blocks, stride of the first block
MOBILENET2 = (
    (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1),
)  # fmt: skip
UNET = (32, 64, 128, 256, 512)  # channels, from the full size of the image downwards
SEGMENTS = 4  # classes of a pixel
NOISE = 100  # numbers from which DCGAN's generator makes an image
GENERATOR = (512, 256, 128, 64)  # channels, from 4 x 4 pixels upwards
# WaveNet: channels, channels of the sum that the last layers read, levels of a sample, samples, dilations
WAVENET = {"units": 64, "skip": 64, "levels": 256, "length": 1024, "dilations": tuple(2**i for i in range(10))}
# a decoder of 4 layers as in the Transformer, with the layers' norms before the attention
TRANSFORMER = {"vocabulary": 1000, "length": 64, "units": 128, "heads": 4, "layers": 4}
# BERT-base has 12 layers; two of them show the same, and 12 take several seconds a step
BERT = {"vocabulary": 30522, "length": 128, "units": 768, "heads": 12, "layers": 2}


def names():
    """The names of all measurements."""
    return [
        f"{name} {mode} {batch}" for name, sizes in BATCHES.items() for mode in ("train", "infer") for batch in sizes
    ]


def programs(networks):
    """The functions that set up a step, by name. `networks`: the names of a module, among them those of the
    networks, which are functions of the mode and the batch's size.
    """
    found = {}
    for name in names():
        network, mode, batch = name.split()
        found[name] = lambda make=networks[network], mode=mode, batch=int(batch): make(mode, batch)
    return found
