"""What runs inside containers: the client SDK, the sandbox kernel, the gateway, and one folder per simulator."""
