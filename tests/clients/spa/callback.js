import { manager } from "/app.js";

const user = await manager.signinCallback();
// The library hands the app's own state over here, and nowhere later.
sessionStorage.setItem("state", user.state);
location.replace("/");
