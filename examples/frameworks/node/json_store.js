// A store of express-session that keeps each session as a JSON document.
import session from "express-session";

// [documented]
export class DocumentStore extends session.Store {
  loaded = new WeakMap(); // what a request found in its session

  constructor({ client, prefix = "session:", ttl = 1800 }) {
    super();
    Object.assign(this, { client, prefix, ttl });
  }

  key(id) { return this.prefix + id; }

  get(id, done) { this.client.json.get(this.key(id)).then((data) => done(null, data), done); }

  // createSession makes the session of a request from what get found.
  createSession(req, data) {
    this.loaded.set(req, structuredClone(data));
    return super.createSession(req, data);
  }

  // set stores the members that the request has changed. Another request may have changed others meanwhile, or ended the session.
  set(id, data, done) {
    const before = this.loaded.get(data.req), now = JSON.parse(JSON.stringify(data));
    const calls = this.client.multi();
    if (before === undefined) calls.json.set(this.key(id), "$", now);
    else {
      for (const name of new Set([...Object.keys(before), ...Object.keys(now)])) {
        const path = `$[${JSON.stringify(name)}]`;
        if (!(name in now)) calls.json.del(this.key(id), { path });
        else if (JSON.stringify(now[name]) !== JSON.stringify(before[name])) calls.json.set(this.key(id), path, now[name]);
      }
    }
    calls.expire(this.key(id), this.ttl).exec().then(() => done(null), async (err) => {
      // A path in a document that is not there is an error: a session that has ended does not come back.
      done(await this.client.exists(this.key(id)) ? err : null);
    }).catch(done);
  }

  touch(id, data, done) { this.client.expire(this.key(id), this.ttl).then(() => done(null), done); }

  destroy(id, done) { this.client.del(this.key(id)).then(() => done(null), done); }
}
// [end]
