// What a fake library brings along, as cuDNN does its sublibraries: once it is loaded it stays.
extern "C" int fake_part_cuda() { return HB_FAKE_CUDA; }
