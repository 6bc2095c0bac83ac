# The other architecture with Debian's cross compiler and a folder of its packages. SHEAF_CROSS: x86_64 or aarch64; SHEAF_SYSROOT:
# where the packages are unpacked.
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES SHEAF_CROSS SHEAF_SYSROOT)
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${SHEAF_CROSS})
set(triple ${SHEAF_CROSS}-linux-gnu)
set(CMAKE_CXX_COMPILER ${triple}-g++)
set(CMAKE_LIBRARY_ARCHITECTURE ${triple})
set(CMAKE_FIND_ROOT_PATH ${SHEAF_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(libraries ${SHEAF_SYSROOT}/usr/lib/${triple})
set(CMAKE_CXX_FLAGS_INIT "-isystem ${SHEAF_SYSROOT}/usr/include")
# The compiler's own folder first: the packages bring no C library.
set(CMAKE_EXE_LINKER_FLAGS_INIT "-L${libraries} -Wl,-rpath,${libraries} -Wl,-rpath-link,${libraries}")
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-${SHEAF_CROSS};-cpu;max;-L;/usr/${triple})
