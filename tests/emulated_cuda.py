"""CUDA sources compiled as C++ for a processor: every thread of a block is one of the system, blocks come in turn."""

import ctypes
import re
import shutil
import subprocess

PRELUDE = """
#include <barrier>
#include <thread>
#include <vector>
#define __device__
#define __global__
#define __launch_bounds__(...)
struct place { unsigned x, y, z; };
static thread_local place threadIdx;
static place blockIdx, gridDim, blockDim;
static std::barrier<>* together;
static void __syncthreads() { together->arrive_and_wait(); }
static char memory[1 << 20];
#define SHARED(type, name) type* name = (type*)memory
template <class F> void launch(unsigned x, unsigned y, unsigned z, unsigned threads, F work)
{
    std::barrier<> all(threads);
    together = &all;
    gridDim = {x, y, z};
    blockDim = {threads, 1, 1};
    std::vector<std::thread> running;
    for (unsigned i = 0; i < threads; ++i)
        running.emplace_back([&, i] {
            threadIdx = {i, 0, 0};
            for (unsigned block = 0; block < x * y * z; ++block) {
                all.arrive_and_wait();
                if (!i) blockIdx = {block % x, block / x % y, block / x / y};
                all.arrive_and_wait();
                work();
            }
        });
    for (auto& one : running) one.join();
}
"""

KERNEL = re.compile(r'extern "C" __global__ void (?:__launch_bounds__\([^)]*\) )?(\w+)\(\s*([^)]*)\)')


def compiler() -> str | None:
    """A compiler of C++20, or None."""
    found = shutil.which("g++")
    probe = "#include <barrier>\nint main() { std::barrier<> b(1); }"
    words = [found, "-std=c++20", "-x", "c++", "-fsyntax-only", "-"]
    if found is None or subprocess.run(words, input=probe, text=True, capture_output=True, check=False).returncode:
        return None
    return found


class EmulatedKernel:
    """In place of `parallel.kernels.cuda.Kernel`, for tensors in main memory."""

    def __init__(self, folder, source, name, *macros):
        described = "_".join(re.sub(r"\W", "", macro) for macro in macros)
        library = folder / f"{abs(hash(described + source))}.so"
        self.parameters = [one.strip() for one in dict(KERNEL.findall(source))[name].split(",")]
        if not library.exists():
            calls = ""
            for one, parameters in KERNEL.findall(source):
                names = ", ".join(re.split(r"[ *]+", parameter.strip())[-1] for parameter in parameters.split(","))
                calls += f'extern "C" void run_{one}(unsigned gx, unsigned gy, unsigned gz, unsigned th, {parameters})'
                calls += f" {{ launch(gx, gy, gz, th, [&] {{ {one}({names}); }}); }}\n"
            text = library.with_suffix(".cpp")
            text.write_text(PRELUDE + source + calls)
            words = ["-O1", "-std=c++20", "-w", "-shared", "-fPIC", "-pthread", *(f"-D{macro}" for macro in macros)]
            subprocess.run([compiler(), *words, str(text), "-o", str(library)], check=True)
        self.function = getattr(ctypes.CDLL(str(library)), f"run_{name}")

    def with_shared(self, shared_bytes):
        assert 0 < shared_bytes <= 1 << 20
        return self

    def __call__(self, grid, threads, *arguments):
        assert len(arguments) == len(self.parameters), (len(arguments), self.parameters)
        self.function(*map(ctypes.c_uint, (*grid, threads)), *(kind(value) for value, kind in arguments))
