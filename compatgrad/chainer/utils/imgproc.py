"""Image processing."""

import numpy


def oversample(images, crop_dims):
    """Ten crops (h, w) = `crop_dims` of every image (c, H, W): four corners and the centre, then those
    mirrored.
    """
    _, height, width = images[0].shape
    h, w = crop_dims
    bottom, right = height - h, width - w
    centre = (int(height / 2 - h / 2), int(width / 2 - w / 2))
    origins = [(0, 0), (0, right), (bottom, 0), (bottom, right), centre]
    crops = []
    for image in images:
        plain = [image[:, y : y + h, x : x + w] for y, x in origins]
        crops += plain + [crop[:, :, ::-1] for crop in plain]
    return numpy.stack(crops)
