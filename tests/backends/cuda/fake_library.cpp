// A library of which there are two of one name, for different versions of CUDA. It tells what its part tells.
extern "C" int fake_part_cuda();
extern "C" int fake_cuda() { return fake_part_cuda(); }
