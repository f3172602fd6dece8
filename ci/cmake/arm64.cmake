# Cross-compiles for 64-bit ARM with Debian's compiler and libraries (crossbuild-essential-arm64, NAME:arm64). The programs run under
# qemu-user. `ci/systems arm64` installs the packages.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64)
