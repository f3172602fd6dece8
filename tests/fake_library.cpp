// A library of which there are two of one name, for different versions of CUDA.
extern "C" int fake_cuda() { return HB_FAKE_CUDA; }
