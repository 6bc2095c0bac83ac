// Closes the region that pairs_begin.h opened; included once per .cpp that has one.
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
