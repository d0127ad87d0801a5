"""Scripts for developers, without tests."""
