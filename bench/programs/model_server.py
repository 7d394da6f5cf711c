"""A model that answers at once: one fixed reply to every request, and the moments at which the requests came.

``python model_server.py TEXT`` prints its port. ``GET /arrivals`` returns and forgets the moments (s, monotonic).
"""

import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MESSAGE = {"role": "assistant", "content": sys.argv[1]}
USAGE = {"prompt_tokens": 1000, "completion_tokens": 20, "total_tokens": 1020}
CHOICE = {"index": 0, "message": MESSAGE, "finish_reason": "stop"}
HEAD = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1767225600, "model": "instant"}
ANSWER = json.dumps({**HEAD, "choices": [CHOICE], "usage": USAGE}).encode()
arrivals: list[float] = []


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        arrivals.append(time.monotonic())
        self.rfile.read(int(self.headers["Content-Length"]))
        self._send(ANSWER)

    def do_GET(self) -> None:
        self._send(json.dumps(arrivals).encode())
        arrivals.clear()

    def _send(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
