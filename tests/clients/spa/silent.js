import { manager } from "/app.js";

// The end of a renewal in a hidden frame, and of a sign-in in a popup.
await manager.signinCallback();
