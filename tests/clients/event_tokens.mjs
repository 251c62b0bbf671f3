// Verifies security event tokens and logout tokens with jose. Prints their headers and claims, or what is wrong.
import { createLocalJWKSet, jwtVerify } from "jose";

const { TOKENS, KEYS, RULES } = process.env;
const keys = createLocalJWKSet(JSON.parse(KEYS));
const found = [];
for (const [typ, token] of JSON.parse(TOKENS)) {
  try {
    const { protectedHeader, payload } = await jwtVerify(token, keys, { ...JSON.parse(RULES), typ });
    found.push([protectedHeader, payload]);
  } catch (error) {
    found.push(`${error.code} ${error.claim ?? ""}`.trim());
  }
}
console.log(JSON.stringify(found));
