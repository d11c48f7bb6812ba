// SPDX-License-Identifier: Apache-2.0
// Annotations for locks, which clang's thread-safety analysis checks (the preset
// clang-thread-safety, the test thread_safety). Other compilers ignore them.
#pragma once

#if defined(__clang__)
#define FABRICD_THREAD_ATTRIBUTE(attribute) __attribute__((attribute))
#else
#define FABRICD_THREAD_ATTRIBUTE(attribute)
#endif

// For a class: it is a lock, or holds one during its lifetime.
#define FABRICD_CAPABILITY(name) FABRICD_THREAD_ATTRIBUTE(capability(name))
#define FABRICD_SCOPED_CAPABILITY FABRICD_THREAD_ATTRIBUTE(scoped_lockable)

// For a data member: used only while the lock is held. For a pointer: applies to the object pointed
// to.
#define FABRICD_GUARDED_BY(lock) FABRICD_THREAD_ATTRIBUTE(guarded_by(lock))
#define FABRICD_POINTEE_GUARDED_BY(lock) FABRICD_THREAD_ATTRIBUTE(pt_guarded_by(lock))

// For a function or a lambda: the caller must hold the lock, or must not hold it.
#define FABRICD_REQUIRES(...) FABRICD_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define FABRICD_EXCLUDES(...) FABRICD_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))

// For a function: it acquires the lock, does if it returns that, releases it, or is excluded from
// the analysis.
#define FABRICD_ACQUIRE(...) FABRICD_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define FABRICD_TRY_ACQUIRE(...) FABRICD_THREAD_ATTRIBUTE(try_acquire_capability(__VA_ARGS__))
#define FABRICD_RELEASE(...) FABRICD_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
#define FABRICD_NO_THREAD_SAFETY_ANALYSIS FABRICD_THREAD_ATTRIBUTE(no_thread_safety_analysis)
