# Element-wise loops are plain C++ that the compiler vectorises; GCC 12's -O2 leaves loops of unknown length alone. Nobody
# reads errno after a square root.
target_compile_options(ops PRIVATE -fno-math-errno)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(ops PRIVATE -ftree-vectorize -fvect-cost-model=dynamic)
endif()
