import { manager } from "/app.js";

await manager.signinSilentCallback();
