# CUDA, where nvcc and cuDNN's headers are: the kernels are compiled in, the runtime is linked statically, and the driver,
# cuBLAS and cuDNN are loaded when a run asks for them. So the program starts, and computes on the CPU, without any.
#
#   HOPBENCH_CUDA          AUTO: if nvcc and cudnn.h are found; ON: required, and compiled for all GPUs from sm_80 on that nvcc knows; OFF
#   CUDACXX                nvcc, where it is neither in PATH nor in /usr/local/cuda
#   CUDNN_INCLUDE          the folder of cudnn.h (looked for in the toolkit and in python3's nvidia-cudnn package)
#   CMAKE_CUDA_ARCHITECTURES  which GPUs. Without it AUTO compiles for all, too, if this machine has a GPU, and else once, as PTX of sm_80:
#                          so a login node builds quickly, and the driver of its GPUs compiles the rest when a program starts
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
  file(GLOB gpus /dev/nvidia[0-9]*)
  if(HOPBENCH_CUDA STREQUAL "AUTO" AND NOT gpus)
    set(CMAKE_CUDA_ARCHITECTURES 80-virtual)   # not cached: with ON, or where there is a GPU, the next configuration compiles for all
  else()
    execute_process(COMMAND "${NVCC}" --list-gpu-arch OUTPUT_VARIABLE known)
    foreach(architecture 80 86 89 90 100 120)
      if(known MATCHES "compute_${architecture}\n")
        list(APPEND CMAKE_CUDA_ARCHITECTURES ${architecture}-real)
        set(newest ${architecture})
      endif()
    endforeach()
    if("90-real" IN_LIST CMAKE_CUDA_ARCHITECTURES AND NOT newest EQUAL 90)   # for those between 90 and the newest that are not named
      list(APPEND CMAKE_CUDA_ARCHITECTURES 90-virtual)
    endif()
    list(APPEND CMAKE_CUDA_ARCHITECTURES ${newest}-virtual)
  endif()
endif()
message(STATUS "hopbench: CUDA for ${CMAKE_CUDA_ARCHITECTURES}")
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
