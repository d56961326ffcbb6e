from compatgrad.chainer.links.caffe.caffe_function import CaffeFunction as CaffeFunction
