// A fake library brings this along, as cuDNN does its sublibraries. Once it is loaded it stays.
extern "C" int fake_part_cuda() { return HB_FAKE_CUDA; }
