import { manager } from "/app.js";

const user = await manager.signinCallback();
// The library only returns the app's state here, so it is kept for the test.
sessionStorage.setItem("state", user.state);
location.replace("/");
