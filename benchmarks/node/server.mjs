// Serves the provider on loopback.

import { provider } from "./provider.mjs";

const server = provider.listen(Number(process.env.PORT), "127.0.0.1");
// Keep connections open longer than any pause between two rounds.
server.keepAliveTimeout = 600_000;

process.on("SIGTERM", () => process.exit(0));
