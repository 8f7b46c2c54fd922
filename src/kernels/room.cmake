# Each instruction set's files get their own flags; nothing else in the project does. They include no inline function of
# external linkage, so that no other file ends up calling code its CPU cannot run.
set(avx2 "-O3;-mavx2;-mfma")
set(avx512 "${avx2};-mavx512f;-mavx512bw;-mavx512dq;-mavx512vl;-mavx512vnni;-mprefer-vector-width=512")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 warns about the undefined pass-through operand of its own AVX-512 headers.
  list(APPEND avx512 -Wno-maybe-uninitialized -Wno-uninitialized)
endif()
set(kernels_isa ${CMAKE_SOURCE_DIR}/src/kernels/isa)
set_source_files_properties(${kernels_isa}/float_avx2.cpp ${kernels_isa}/gemm_f32_avx2.cpp
                            ${kernels_isa}/gemm_s16s8s32_avx2.cpp ${kernels_isa}/gemm_u8s8s32_avx2.cpp PROPERTIES COMPILE_OPTIONS "${avx2}")
set_source_files_properties(${kernels_isa}/gemm_u8s8s32_avx2_vnni.cpp PROPERTIES COMPILE_OPTIONS "${avx2};-mavxvnni")
set_source_files_properties(${kernels_isa}/float_avx512.cpp ${kernels_isa}/gemm_f32_avx512.cpp
                            ${kernels_isa}/gemm_u8s8s32_avx512_vnni.cpp PROPERTIES COMPILE_OPTIONS "${avx512}")

# The micro-benchmark: `ninja bench_kernels`.
add_executable(bench_kernels EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/tools/bench_kernels.cpp)
assay_link_rooms(bench_kernels kernels tensor base)
