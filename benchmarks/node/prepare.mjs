// Creates authorization codes with the provider's models, and prints them as JSON.

import { randomUUID } from "node:crypto";

import { provider, settings } from "./provider.mjs";
import { redis } from "./redis_adapter.mjs";

const SCOPE = "openid email profile offline_access";

const client = await provider.Client.find(settings.client_id);
const people = await Promise.all(
  Array.from({ length: settings.connections }, async () => {
    const accountId = randomUUID();
    const grant = new provider.Grant({ accountId, clientId: client.clientId });
    grant.addOIDCScope(SCOPE);
    return { accountId, grantId: await grant.save() };
  }),
);

const codes = [];
for (let number = 0; number < settings.codes; number += 1) {
  const { accountId, grantId } = people[number % people.length];
  const code = new provider.AuthorizationCode({
    accountId,
    grantId,
    client,
    scope: SCOPE,
    redirectUri: settings.redirect_uri,
    codeChallenge: settings.code_challenge,
    codeChallengeMethod: "S256",
    nonce: "nonce-of-a-benchmark",
    authTime: Math.floor(Date.now() / 1000),
    amr: ["pwd"],
    gty: "authorization_code",
  });
  codes.push(await code.save());
}

process.stdout.write(JSON.stringify(codes));
redis.disconnect();
