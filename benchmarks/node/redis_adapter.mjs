// Stores the data of oidc-provider in Redis: a hash for each entry, and for each grant a set with its entries' keys.

import { Redis } from "ioredis";

export const redis = new Redis(process.env.REDIS_URL);

// Models whose entries are deleted when their grant is revoked.
const OF_A_GRANT = new Set(["AccessToken", "AuthorizationCode", "RefreshToken"]);

// No entry lives longer than this, so a grant's set may expire then.
const LONGEST_SECONDS = 30 * 24 * 3600;

const grantKey = (grantId) => `members:${grantId}`;

export class RedisAdapter {
  constructor(model) {
    this.model = model;
  }

  key(id) {
    return `${this.model}:${id}`;
  }

  async upsert(id, payload, expiresIn) {
    const key = this.key(id);
    const steps = redis.multi().hset(key, "payload", JSON.stringify(payload));
    if (expiresIn) {
      steps.expire(key, expiresIn);
    }
    if (payload.grantId && OF_A_GRANT.has(this.model)) {
      const members = grantKey(payload.grantId);
      steps.sadd(members, key);
      steps.expire(members, LONGEST_SECONDS);
    }
    if (payload.uid) {
      steps.set(`uid:${payload.uid}`, id, "EX", expiresIn);
    }
    await steps.exec();
  }

  async find(id) {
    const [payload, consumed] = await redis.hmget(this.key(id), "payload", "consumed");
    if (payload === null) {
      return undefined;
    }
    const found = JSON.parse(payload);
    return consumed === null ? found : { ...found, consumed: Number(consumed) };
  }

  async findByUid(uid) {
    const id = await redis.get(`uid:${uid}`);
    return id === null ? undefined : this.find(id);
  }

  async findByUserCode() {
    return undefined; // the device flow is off
  }

  async consume(id) {
    await redis.hset(this.key(id), "consumed", Math.floor(Date.now() / 1000));
  }

  async destroy(id) {
    await redis.del(this.key(id));
  }

  async revokeByGrantId(grantId) {
    const members = grantKey(grantId);
    await redis.del(members, ...(await redis.smembers(members)));
  }
}
