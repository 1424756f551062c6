// Which sanitizer a test is built with: TOKENDRAW_ASAN or TOKENDRAW_TSAN, for what cannot be seen
// under it. g++ and clang tell in different ways.
#ifndef TOKENDRAW_TESTS_SANITIZERS_H_
#define TOKENDRAW_TESTS_SANITIZERS_H_

#ifdef __has_feature
#define TOKENDRAW_HAS_FEATURE(name) __has_feature(name)
#else
#define TOKENDRAW_HAS_FEATURE(name) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || TOKENDRAW_HAS_FEATURE(address_sanitizer)
#define TOKENDRAW_ASAN
#endif
#if defined(__SANITIZE_THREAD__) || TOKENDRAW_HAS_FEATURE(thread_sanitizer)
#define TOKENDRAW_TSAN
#endif

#endif  // TOKENDRAW_TESTS_SANITIZERS_H_
