"""The command lines, by folder of Chainer's `examples`. A case's commands read files that earlier ones wrote."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Command:
    """A script with its arguments, in which {data} is the folder of synthetic data. iterations: after which a trainer
    stops (0: no limit); links: synthetic files that the script reads from its own folder; typed: its standard input;
    edits: pairs of a text of the example and its replacement, on both sides."""

    folder: str
    script: str
    arguments: tuple[str, ...] = ()
    iterations: int = 0
    links: tuple[str, ...] = ()
    typed: str | None = None
    edits: tuple[tuple[str, str], ...] = ()


def command(folder: str, line: str, **more) -> Command:
    script, *arguments = line.split()
    return Command(folder, script, tuple(arguments), **more)


IMAGES = "-R {data}/images -m {data}/mean.npy -B 2 -b 2 --test {data}/list.txt {data}/list.txt"
ARCHS = ("alex", "googlenet", "googlenetbn", "nin", "resnet50", "resnext50")
ZOO = "evaluate_caffe_net.py {data}/list.txt"
CROPS = "-b {data}/images -B 4 -m {data}/mean.npy"
WAVENET = "--n_loop 2 --n_layer 3 --a_channels 16 --r_channels 8 --s_channels 16"
WORD2VEC = [(m, o) for m in ("skipgram", "cbow") for o in ("hsm", "ns", "original")]
SEQ2SEQ = "source.txt target.txt sv.txt tv.txt --validation-source source.txt --validation-target target.txt"
UNITS = "-b 8 -u 16 -l 2"
WMT = "-u 16 -b 8 -i {data}/wmt --bleu"
CHEAP_GPU = (  # removes the requirement of GPUs from ChainerMN's imagenet; the shuffle of `scatter_dataset` is seeded
    ("if not chainer.cuda.available:", "if False:"),
    ("    chainer.cuda.get_device_from_id(device).use()  # Make the GPU current\n    model.to_gpu()\n", ""),
    ("device = comm.intra_rank", "device = -1"),
    ("multiprocessing.set_start_method('forkserver')", "multiprocessing.set_start_method('fork')"),
    ("shuffle=True)", "shuffle=True, seed=0)"),
)

# the attribute's name since gym 0.12, and seeds for the game and for sampled actions
GYM = (
    ("env.spec.timestep_limit", "env.spec.max_episode_steps"),
    ("env = gym.make(args.env)\n", "env = gym.make(args.env)\n    env.seed(0), env.action_space.seed(0)\n"),
)

# `parse_kwargs` returns a tuple, which chainermn's VGG would take for the number of classes; the shuffle of
# `scatter_dataset` gets a seed.
SEEDED = (
    ("kwargs, ('num_class_labels', None))", "kwargs, ('num_class_labels', None))[0]"),
    ("shuffle=True)", "shuffle=True, seed=0)"),
)
# a seed for optuna's sampler, and fewer and smaller trials
SAMPLER = "sampler=optuna.samplers.RandomSampler(0)"
OPTUNA = (
    ("N_TRAIN_EXAMPLES = 3000", "N_TRAIN_EXAMPLES = 300"),
    ("N_VALID_EXAMPLES = 1000", "N_VALID_EXAMPLES = 100"),
    ("EPOCH = 10", "EPOCH = 2"),
    ("n_trials=100", "n_trials=3"),
    ("n_trials=25", "n_trials=3"),
    ("create_study(\n", f"create_study(\n        {SAMPLER},\n"),
    ("comm, shuffle=True)", "comm, shuffle=True, seed=0)"),
)
STUDY = f"create_study(study_name=study_name, storage=storage_url, {SAMPLER}, direction='maximize'"

CASES: dict[str, list[Command]] = {
    "caffe_export googlenet": [command("caffe_export", "export.py -a googlenet -o out")],
    "caffe_export resnet50": [command("caffe_export", "export.py -a resnet50 -o out")],
    "caffe_export vgg16": [command("caffe_export", "export.py -a vgg16 -o out")],
    "chainermn mnist": [
        command(
            "chainermn/mnist",
            "train_mnist.py --communicator naive -u 20 -e 2",
            edits=(("shuffle=True)", "shuffle=True, seed=0)"),),
        )
    ],
    "chainermn mnist dual": [command("chainermn/mnist", "train_mnist_dual_parallel.py -u 20 -e 1")],
    "chainermn mnist model": [command("chainermn/mnist", "train_mnist_model_parallel.py -u 20 -e 1")],
    "chainermn cifar": [command("chainermn/cifar", "train_cifar.py -b 8 -e 2", edits=SEEDED)],
    "chainermn parallel_convolution": [command("chainermn/parallel_convolution", "train.py -b 8 -e 1")],
    "chainermn dcgan": [
        command(
            "chainermn/dcgan",
            "train_dcgan.py -b 4 --communicator naive --snapshot_interval 20 --display_interval 1",
            iterations=3,
        )
    ],
    "chainermn seq2seq": [command("chainermn/seq2seq", f"seq2seq.py {WMT} -s 2e")],
    "chainermn seq2seq_mp1": [command("chainermn/seq2seq", f"seq2seq_mp1.py {WMT} -s 2e")],
    "chainermn imagenet": [
        command("chainermn/imagenet", "compute_mean.py -R {data}/images {data}/list.txt"),
        command(
            "chainermn/imagenet",
            f"train_imagenet.py -a nin --communicator naive {IMAGES} -j 1",
            iterations=3,
            edits=CHEAP_GPU,
        ),
    ],
    "chainermn imagenet refused": [command("chainermn/imagenet", f"train_imagenet.py {IMAGES}")],
    "cifar 10": [command("cifar", "train_cifar.py -b 4 -e 1")],
    "cifar 100": [command("cifar", "train_cifar.py --dataset cifar100 -b 8 -e 1 --early-stopping main/loss")],
    "cifar loop": [command("cifar", "train_cifar_custom_loop.py -b 8 -e 1")],
    "dcgan": [command("dcgan", "train_dcgan.py -b 4 --snapshot_interval 20 --display_interval 1", iterations=3)],
    "glance": [command("glance", "glance.py", iterations=200, edits=(("* .7))", "* .7), 0)"),))],
    "image_captioning lstm": [
        command(
            "image_captioning",
            "train.py --mscoco-root {data}/coco --max-iters 3 --batch-size 2 --val-iter 2 --snapshot-iter 3 --rnn lstm",
        ),
        command(
            "image_captioning",
            "predict.py --mscoco-root {data}/coco --model result/model_3 --rnn lstm --img {data}/images/0.png",
        ),
    ],
    "image_captioning nsteplstm": [
        command(
            "image_captioning",
            "train.py --mscoco-root {data}/coco --max-iters 3 --batch-size 2 --val-iter 2 --snapshot-iter 3",
        ),
        command(
            "image_captioning",
            "predict.py --mscoco-root {data}/coco --model result/model_3 --img-dir {data}/coco/train2014",
        ),
    ],
    "imagenet mean": [command("imagenet", "compute_mean.py -R {data}/images {data}/list.txt")],
    **{
        f"imagenet {arch}": [command("imagenet", f"train_imagenet.py -a {arch} {IMAGES} -j 1 -E 1", iterations=2)]
        for arch in ARCHS
    },
    "imagenet data_parallel": [
        command("imagenet", f"train_imagenet_data_parallel.py -a nin {IMAGES} -j 1 -E 1 -d -1 -1", iterations=2)
    ],
    "memnn": [
        command("memnn", "train_memnn.py {data}/babi/qa1_train.txt {data}/babi/qa1_test.txt -b 10 -e 3"),
        command("memnn", "test_memnn.py model {data}/babi/qa1_test.txt"),
    ],
    "memnn pe": [
        command(
            "memnn",
            "train_memnn.py {data}/babi/qa1_train.txt {data}/babi/qa1_test.txt -b 10 -e 2 --sentence-repr pe -H 2",
        )
    ],
    "mnist": [
        command("mnist", "train_mnist.py -e 2 -u 30 -f 1"),
        command("mnist", "inference.py -s result/snapshot_iter_12 -u 30"),
        command("mnist", "train_mnist.py -e 3 -u 30 -r result/snapshot_iter_12 -o again"),
        command("mnist", "train_mnist.py -e 4 -u 30 --autoload"),
    ],
    "mnist loop": [
        command("mnist", "train_mnist_custom_loop.py -e 2 -u 30"),
        command("mnist", "inference.py -s result/mlp.model -u 30"),
    ],
    "mnist data_parallel": [command("mnist", "train_mnist_data_parallel.py -e 1 -u 30 -d @numpy -D @numpy")],
    "mnist data_parallel_updater": [
        command("mnist", "train_mnist_data_parallel_updater.py -e 1 -u 30 -d @numpy @numpy -j 1")
    ],
    "mnist model_parallel": [command("mnist", "train_mnist_model_parallel.py -e 1 -u 30 -d @numpy -D @numpy")],
    "mnist without GPU": [command("mnist", "train_mnist.py -e 1 -d 0")],
    "modelzoo alexnet": [
        command(
            "modelzoo",
            f"{ZOO} alexnet {{data}}/caffe/alexnet.caffemodel {CROPS}",
        )
    ],
    "modelzoo googlenet": [
        command(
            "modelzoo",
            f"{ZOO} googlenet {{data}}/caffe/googlenet.caffemodel {CROPS}",
        )
    ],
    "modelzoo resnet": [
        command(
            "modelzoo",
            f"{ZOO} resnet {{data}}/caffe/resnet.caffemodel {CROPS}",
        )
    ],
    "optuna simple": [command("optuna", "chainer_simple.py", edits=OPTUNA)],
    "optuna integration": [command("optuna", "chainer_integration.py", edits=OPTUNA)],
    "optuna chainermn_simple": [
        command(
            "optuna",
            "chainermn_simple.py study sqlite:///study.db",
            edits=(*OPTUNA, ("load_study(study_name, storage_url", STUDY)),
        )
    ],
    "optuna chainermn_integration": [
        command(
            "optuna",
            "chainermn_integration.py study sqlite:///study.db",
            edits=(*OPTUNA, ("load_study(\n        study_name, storage_url", STUDY)),
        )
    ],
    "pix2pix": [
        command("pix2pix", "train_facade.py -i {data}/facade --snapshot_interval 2 --display_interval 1", iterations=2)
    ],
    "pos": [
        command(
            "pos",
            "postagging.py -b 10 -e 2",
            edits=(("(100, 'iteration')", "(2, 'iteration')"), ("(1000, 'iteration')", "(5, 'iteration')")),
        )
    ],
    "ptb": [
        command("ptb", "train_ptb.py --test -u 10 -b 5 -l 5 -e 2"),
        command("ptb", "gentxt.py -m model.npz -p bal -u 10"),
    ],
    "ptb loop": [command("ptb", "train_ptb_custom_loop.py --test -u 10 -b 5 -l 5 -e 2")],
    "reinforcement_learning dqn": [
        command(
            "reinforcement_learning", "dqn_cartpole.py -e 4 --no-record --replay-start-size 20 -b 8 -u 16", edits=GYM
        )
    ],
    "reinforcement_learning double": [
        command(
            "reinforcement_learning",
            "dqn_cartpole.py -e 4 --no-record --replay-start-size 20 -b 8 -u 16 --target-type double_dqn",
            edits=GYM,
        )
    ],
    "reinforcement_learning ddpg": [
        command(
            "reinforcement_learning", "ddpg_pendulum.py -e 1 --no-record --replay-start-size 150 -b 8 -u 16", edits=GYM
        )
    ],
    "sentiment": [command("sentiment", "train_sentiment.py -e 2 -b 10 -u 8 -p 1", links=("trees",))],
    "sentiment recursive": [
        command("sentiment", "train_recursive_minibatch.py -e 2 -b 10 -u 8 -p 1", links=("trees",))
    ],
    "sentiment thin_stack": [command("sentiment", "test_thin_stack.py")],
    "seq2seq": [
        command("seq2seq", "wmt_preprocess.py {data}/source.txt source.txt --vocab-file sv.txt --vocab-size 30"),
        command("seq2seq", "wmt_preprocess.py {data}/target.txt target.txt --vocab-file tv.txt --lower"),
        command(
            "seq2seq",
            f"seq2seq.py {SEQ2SEQ} {UNITS} -e 2 --log-interval 1 --validation-interval 3 -s saved.npz",
        ),
        command("seq2seq", f"seq2seq.py {SEQ2SEQ} {UNITS} -e 3 --log-interval 1 -r saved.npz --use-dataset-api"),
    ],
    "serialization": [
        command("serialization", "save.py", edits=(("saved_params.items()", "sorted(saved_params.items())"),)),
        command("serialization", "load.py"),
    ],
    "static mnist": [command("static_graph_optimizations/mnist", "train_mnist.py -e 1 -u 30")],
    "static mnist loop": [command("static_graph_optimizations/mnist", "train_mnist_custom_loop.py -e 1 -u 30")],
    "static cifar": [command("static_graph_optimizations/cifar", "train_cifar.py -b 8 -e 1 -d -1")],
    "static cifar loop": [command("static_graph_optimizations/cifar", "train_cifar_custom_loop.py -b 8 -e 1 -d -1")],
    "static ptb": [
        command("static_graph_optimizations/ptb", "train_ptb_custom_loop.py --test -u 10 -b 5 -l 5 -e 1 -d -1")
    ],
    **{
        f"text_classification {model} {dataset}": [
            command("text_classification", f"train_text_classifier.py -model {model} -data {dataset} -e 1 -b 20 -u 12"),
            command(
                "text_classification",
                "run_text_classifier.py --model-setup result/args.json",
                typed="bal bam cel\n\nfos unknown!\n",
            ),
        ]
        for model, dataset in (
            ("cnn", "TREC"),
            ("rnn", "stsa.binary"),
            ("bow", "custrev"),
            ("bow", "dbpedia"),
            ("cnn", "imdb.fine"),
        )
    },
    "vae": [command("vae", "train_vae.py -e 1 -z 4 --dim-h 20 -b 50")],
    "vae binary": [command("vae", "train_vae.py -e 1 -z 4 --dim-h 20 -b 50 --binary -k 2 --beta 0.5")],
    "wavenet": [
        command(
            "wavenet",
            f"train.py -i {{data}}/VCTK -l 2048 -b 2 -e 1 --snapshot_interval 2 --display_interval 1 {WAVENET}",
            iterations=4,
        ),
        command(
            "wavenet",
            f"generate.py -i {{data}}/VCTK/wav48/p1/0.wav -m result/snapshot_iter_2 {WAVENET}",
            edits=(("range(len(output))", "range(60)"),),
        ),
    ],
    **{
        f"word2vec {model} {loss}": [
            command("word2vec", f"train_word2vec.py -u 8 -w 3 -b 50 -e 2 -m {model} -o {loss}"),
            command("word2vec", "search.py", typed="bal\nunknown\n"),
        ]
        for model, loss in WORD2VEC
    },
}

# Cases that fail in the original, too: the same error is required.
REFUSED = {
    "chainermn mnist dual",
    "chainermn mnist model",
    "chainermn seq2seq_mp1",
    "chainermn imagenet refused",
    "imagenet data_parallel",
    "mnist data_parallel_updater",
    "mnist without GPU",
}
