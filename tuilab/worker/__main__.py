from tuilab.worker.channel import Channel

if __name__ == "__main__":
    # The protocol leaves fd 1 before anything else is imported: TensorFlow prints there.
    channel = Channel.from_stdio()
    from tuilab.worker.main import main

    raise SystemExit(main(channel))
