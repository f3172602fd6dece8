# CUDA, where nvcc and cuDNN's headers are: the kernels are compiled in, the runtime is linked statically, and the driver,
# cuBLAS and cuDNN are loaded when a run asks for them. So the program starts, and computes on the CPU, without any.
#
#   HOPBENCH_CUDA          AUTO, ON or OFF
#   CUDACXX                nvcc, where it is neither in PATH nor in /usr/local/cuda
#   CUDNN_INCLUDE          the folder of cudnn.h (looked for in the toolkit and in python3's nvidia-cudnn package)
#   CMAKE_CUDA_ARCHITECTURES  which GPUs; else all from sm_80 on that nvcc knows
set(HB_HAVE_CUDA OFF)
set(HB_NO_CUDA "it was configured with HOPBENCH_CUDA=OFF")
if(HOPBENCH_CUDA STREQUAL "OFF")
  message(STATUS "hopbench: CUDA OFF")
  return()
endif()

# With a sanitizer the device's address space would be in its way.
if(HOPBENCH_SANITIZE)
  set(HB_NO_CUDA "it was built with a sanitizer")
else()
  find_program(NVCC nvcc HINTS ENV CUDACXX PATHS /usr/local/cuda/bin)
  set(HB_NO_CUDA "no nvcc was found when it was configured (package nvidia-cuda-toolkit, or NVIDIA's CUDA)")
endif()
if(NVCC AND NOT HOPBENCH_SANITIZE)
  get_filename_component(HB_CUDA_ROOT "${NVCC}" REALPATH)
  get_filename_component(HB_CUDA_ROOT "${HB_CUDA_ROOT}/../.." ABSOLUTE)
  if(NOT CUDNN_INCLUDE)
    execute_process(COMMAND python3 -c "import nvidia.cudnn as c; print(list(c.__path__)[0] + '/include')"
                    OUTPUT_VARIABLE python_cudnn OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
  find_path(CUDNN_INCLUDE cudnn.h HINTS ${HB_CUDA_ROOT}/include ${HB_CUDA_ROOT}/targets/x86_64-linux/include ${python_cudnn})
  if(CUDNN_INCLUDE)
    set(HB_HAVE_CUDA ON)
  else()
    set(HB_NO_CUDA "no cudnn.h was found when it was configured (cuDNN 9; CUDNN_INCLUDE names its folder)")
  endif()
endif()
message(STATUS "hopbench: CUDA ${HB_HAVE_CUDA}")
if(NOT HB_HAVE_CUDA)
  if(HOPBENCH_CUDA STREQUAL "ON")
    message(FATAL_ERROR "HOPBENCH_CUDA=ON, but ${HB_NO_CUDA}")
  endif()
  return()
endif()

set(CMAKE_CUDA_COMPILER "${NVCC}")
set(CMAKE_CUDA_HOST_COMPILER g++ CACHE STRING "the host compiler of nvcc")   # which does not take clang 14
if(NOT CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80-real 86-real 89-real 90-real 100-real 120 CACHE STRING "GPUs to build for")
endif()
enable_language(CUDA)
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)   # CMake 3.25 does not know it of nvcc 13
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
endif()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_EXTENSIONS OFF)
find_package(CUDAToolkit REQUIRED)
if(CCACHE)
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()
