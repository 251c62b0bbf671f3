// Asks about an API's tokens with oauth4webapi, and checks their audience with jose. Prints JSON.
import { createRemoteJWKSet, jwtVerify } from "jose";
import * as oauth from "oauth4webapi";

const { ISSUER, CREDENTIAL_ID, CREDENTIAL_SECRET, TOKENS, AUDIENCE } = process.env;
const insecure = { [oauth.allowInsecureRequests]: true }; // a service on this machine

const issuer = new URL(ISSUER);
const discovered = await oauth.discoveryRequest(issuer, insecure);
const server = await oauth.processDiscoveryResponse(issuer, discovered);
const client = { client_id: CREDENTIAL_ID };
const keys = createRemoteJWKSet(new URL(server.jwks_uri));

const found = {};
for (const [name, token] of Object.entries(JSON.parse(TOKENS))) {
  const authentication = oauth.ClientSecretBasic(CREDENTIAL_SECRET);
  const response = await oauth.introspectionRequest(server, client, authentication, token, insecure);
  const introspected = await oauth.processIntrospectionResponse(server, client, response);
  let verified;
  try {
    const rules = { issuer: ISSUER, audience: AUDIENCE, typ: "at+jwt" };
    verified = (await jwtVerify(token, keys, rules)).payload;
  } catch (error) {
    verified = `${error.code} ${error.claim ?? ""}`.trim();
  }
  found[name] = { introspected, verified };
}
console.log(JSON.stringify(found));
