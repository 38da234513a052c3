"""An object that is alive until the interpreter shuts down, and then lets other threads run."""

import time


class Lingering:
    def __del__(self, sleep=time.sleep):
        for _ in range(200):
            sleep(0.001)  # time: in which the others run into the end


LINGERING = Lingering()
