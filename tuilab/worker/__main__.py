from tuilab.worker.channel import Channel

if __name__ == "__main__":
    # Take fd 1 for the protocol before any other import, because TensorFlow prints there.
    channel = Channel.from_stdio()
    from tuilab.worker.main import main

    raise SystemExit(main(channel))
