// An app written with openid-client. Its settings come as JSON in the first argument.
//
// It prints one line of JSON with the URL to send the person to, waits for the URL that the service redirects to, and
// prints a second line with the result. An installed app listens on a loopback port itself. A web app reads the URL
// that the person was redirected to from standard input.

import http from "node:http";
import readline from "node:readline";

import * as client from "openid-client";

const settings = JSON.parse(process.argv[2]);
const methods = {
  client_secret_basic: () => client.ClientSecretBasic(settings.client_secret),
  client_secret_post: () => client.ClientSecretPost(settings.client_secret),
  none: () => client.None(),
};

function say(what) {
  process.stdout.write(JSON.stringify(what) + "\n");
}

async function toldOnStandardInput() {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    return new URL(line);
  }
  throw new Error("nobody said where the person ended up");
}

// RFC 8252 §7.3. The port is opened before the person is sent to the service.
async function listenAt(redirectUri) {
  const address = new URL(redirectUri);
  let arrived;
  const arrival = new Promise((resolve) => {
    arrived = resolve;
  });
  const server = http.createServer((request, response) => {
    response.setHeader("Connection", "close");
    response.end("You can go back to the app.");
    const url = new URL(request.url, redirectUri);
    if (url.pathname === address.pathname) {
      server.close();
      arrived(url);
    }
  });
  await new Promise((resolve) => server.listen(Number(address.port), address.hostname, resolve));
  return arrival;
}

async function refusal(promise) {
  try {
    await promise;
  } catch (error) {
    return error.error ?? error.code ?? String(error);
  }
  return null;
}

const config = await client.discovery(
  new URL(settings.issuer),
  settings.client_id,
  undefined,
  methods[settings.method](),
  // The service under test speaks plain http on loopback.
  { execute: [client.allowInsecureRequests, client.enableNonRepudiationChecks] },
);

const pkceCodeVerifier = client.randomPKCECodeVerifier();
const expectedState = client.randomState();
const expectedNonce = client.randomNonce();
const arrival = settings.method === "none" ? listenAt(settings.redirect_uri) : toldOnStandardInput();
const go = client.buildAuthorizationUrl(config, {
  redirect_uri: settings.redirect_uri,
  scope: "openid email profile offline_access",
  state: expectedState,
  nonce: expectedNonce,
  code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
  code_challenge_method: "S256",
  prompt: "consent",
});
say({ go: go.href });

const tokens = await client.authorizationCodeGrant(config, await arrival, {
  pkceCodeVerifier,
  expectedState,
  expectedNonce,
  idTokenExpected: true,
});
const claims = tokens.claims();
const info = await client.fetchUserInfo(config, tokens.access_token, claims.sub);
const me = await client.fetchProtectedResource(
  config,
  tokens.access_token,
  new URL("/v1/me", settings.issuer),
  "GET",
);
const newer = await client.refreshTokenGrant(config, tokens.refresh_token);
const refusedOld = await refusal(client.refreshTokenGrant(config, tokens.refresh_token));
await client.tokenRevocation(config, newer.refresh_token, { token_type_hint: "refresh_token" });

say({
  claims,
  info,
  me: await me.json(),
  refreshed: newer.claims(),
  rotated: newer.refresh_token !== tokens.refresh_token,
  refused_old: refusedOld,
  refused_revoked: await refusal(client.refreshTokenGrant(config, newer.refresh_token)),
  refused_access: await refusal(client.fetchUserInfo(config, newer.access_token, claims.sub)),
  sign_out: client.buildEndSessionUrl(config, {
    id_token_hint: newer.id_token,
    post_logout_redirect_uri: settings.signed_out_uri,
    state: "left-here",
  }).href,
});
