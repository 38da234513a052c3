//! The memory allocator of the extension module. A request makes about a hundred small allocations
//! on one thread that another thread frees: a tenth of its time with the system's allocator.

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// By default, mimalloc on Linux commits memory by the gigabyte and does not return it: a frame of
/// a million fills would keep 349 MB instead of 213 MB. It would also keep the memory that threads
/// freed before they ended: 71 MB instead of 54 MB after 64 threads.
#[cfg(target_os = "linux")]
#[used]
#[expect(unsafe_code, reason = "must run before the first allocation")]
// SAFETY: the loader calls the functions in this section, once, on one thread, while it loads the
// module; and this function has the type that the loader calls.
#[unsafe(link_section = ".init_array")]
static AT_LOADING: extern "C" fn() = take_memory_as_needed;

#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "a C function")]
extern "C" fn take_memory_as_needed() {
    // `mi_option_arena_eager_commit` and `mi_option_abandoned_page_purge` in mimalloc.h, version 2.
    const ARENA_EAGER_COMMIT: libmimalloc_sys::mi_option_t = 4;
    const ABANDONED_PAGE_PURGE: libmimalloc_sys::mi_option_t = 12;
    // SAFETY: these calls set numbers in a table that exists from the start.
    unsafe {
        libmimalloc_sys::mi_option_set_enabled(ARENA_EAGER_COMMIT, false);
        libmimalloc_sys::mi_option_set_enabled(ABANDONED_PAGE_PURGE, true);
    }
}
