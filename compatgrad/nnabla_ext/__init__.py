"""Extensions that programs name: `cpu`, `cuda` and `cudnn`."""
