// Closes the region that bf16_dot_begin.h opened; included once per .cpp that has one.
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
