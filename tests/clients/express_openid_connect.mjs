// An app with express-openid-connect, which ends its sessions when a logout token arrives.
import express from "express";
import openid from "express-openid-connect";
import session from "express-session";

const { issuer, origin, client_id, client_secret } = JSON.parse(process.argv[2]);

const app = express();
app.use(
  openid.auth({
    issuerBaseURL: issuer,
    baseURL: origin,
    clientID: client_id,
    clientSecret: client_secret,
    secret: client_secret,
    authRequired: false,
    authorizationParams: { response_type: "code", scope: "openid profile" },
    backchannelLogout: { store: new session.MemoryStore() },
  }),
);
app.get("/", ({ oidc }, response) => response.send(oidc.isAuthenticated() ? `Hello, ${oidc.user.name}` : "Signed out"));
app.listen(new URL(origin).port, "localhost", () => console.log("ready"));
