package sim

import (
	"maps"
	"slices"
	"strconv"
)

// run is the execution of commands on a state that it may change.
type run struct {
	*state
	db      int
	now     int64
	changed []place // in order; a key that was changed twice stands here twice
	met     []place // looked at or changed
}

// get is the value of a key, nil if there is none.
func (r *run) get(key string) *value {
	r.met = append(r.met, place{r.db, key})
	v := r.dbs[r.db][key]
	if v != nil && v.expire != 0 && v.expire <= r.now {
		return nil
	}
	return v
}

// set gives a key a value, or removes it.
func (r *run) set(key string, v *value) {
	r.changed = append(r.changed, place{r.db, key})
	if v == nil || len(v.list) == 0 && len(v.hash) == 0 && (v.list != nil || v.hash != nil) {
		delete(r.dbs[r.db], key)
		return
	}
	r.dbs[r.db][key] = v
}

// edit is a copy of a value, or a new one, for a command that changes it.
func (r *run) edit(key string) value {
	if v := r.get(key); v != nil {
		return value{text: v.text, list: slices.Clone(v.list), hash: maps.Clone(v.hash), names: v.names, expire: v.expire}
	}
	return value{}
}

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic("sim: " + s + " is no number")
	}
	return n
}

// do runs a command that does not wait and returns its reply. Keys hold values of
// one type, as their names say, so nothing fails.
func (r *run) do(args []string) string {
	if len(args) > 1 && args[1][:1] == "y" && args[0] != "DEL" {
		return r.namedCommand(args)
	}
	switch args[0] {
	case "SELECT":
		r.db = atoi(args[1])
		return ok
	case "FLUSHDB":
		r.flush()
		return ok
	case "SWAPDB":
		r.swap(atoi(args[1]), atoi(args[2]))
		return ok
	case "LPUSH", "RPUSH", "LPOP", "RPOP", "LMOVE", "LRANGE", "LLEN":
		return r.listCommand(args)
	case "HSET", "HGET", "HDEL", "HINCRBY", "HLEN":
		return r.hashCommand(args)
	case "CF.ADDNX", "CF.DEL", "CF.EXISTS", "CMS.INITBYDIM", "CMS.INCRBY", "CMS.QUERY", "TOPK.RESERVE", "TOPK.ADD", "TDIGEST.CREATE", "TDIGEST.ADD":
		return r.sketchCommand(args)
	case "JSON.GET", "JSON.MERGE", "JSON.NUMINCRBY", "JSON.DEL":
		return r.jsonCommand(args)
	case "SPEXPIREAT", "SPERSIST":
		return r.memberCommand(args)
	case "SADD", "SREM", "SISMEMBER", "SCARD", "SMOVE":
		return r.setCommand(args)
	case "ZADD", "ZINCRBY", "ZREM", "ZSCORE", "ZRANGE", "ZPOPMIN":
		return r.zsetCommand(args)
	case "XADD", "XLEN", "XRANGE", "XTRIM":
		return r.streamCommand(args)
	case "XGROUP", "XREADGROUP", "XACK":
		return r.groupCommand(args)
	case "EVAL":
		return r.script(args)
	case "DEL", "EXISTS", "PEXPIRE", "PTTL", "PERSIST", "RENAME", "MOVE":
		return r.keyCommand(args)
	}
	return r.stringCommand(args)
}

const ok = "+OK"

func (r *run) stringCommand(args []string) string {
	key := args[1]
	v := r.edit(key)
	there := r.get(key) != nil
	switch args[0] {
	case "GET":
		if !there {
			return absent
		}
		return bulk(v.text)
	case "SET":
		v = value{text: args[2]}
		if len(args) > 3 { // PX milliseconds
			v.expire = r.now + int64(atoi(args[4]))
		}
		r.set(key, &v)
		return ok
	case "GETSET":
		old := absent
		if there {
			old = bulk(v.text)
		}
		r.set(key, &value{text: args[2]})
		return old
	case "APPEND":
		v.text += args[2]
	case "SETRANGE":
		v.text = args[3] + v.text[min(len(v.text), len(args[3])):] // at 0
	case "INCR":
		if !there {
			v.text = "0"
		}
		v.text = strconv.Itoa(atoi(v.text) + 1)
		r.set(key, &v)
		return v.text
	default:
		panic("sim: no model of " + args[0])
	}
	r.set(key, &v)
	return number(len(v.text))
}

func (r *run) keyCommand(args []string) string {
	key := args[1]
	if args[0] == "MOVE" && atoi(args[2]) == r.db {
		return "-ERR source and destination objects are the same"
	}
	v := r.edit(key)
	if r.get(key) == nil {
		switch args[0] {
		case "PTTL":
			return "-2"
		case "RENAME":
			return "-ERR no such key"
		}
		return "0"
	}
	switch args[0] {
	case "EXISTS":
	case "DEL":
		r.set(key, nil)
	case "PEXPIRE":
		v.expire = r.now + int64(atoi(args[2]))
		r.set(key, &v)
	case "PTTL":
		if v.expire == 0 {
			return "-1"
		}
		return number(int(v.expire - r.now))
	case "PERSIST":
		if v.expire == 0 {
			return "0"
		}
		v.expire = 0
		r.set(key, &v)
	case "RENAME":
		r.set(key, nil)
		r.set(args[2], &v)
		return ok
	case "MOVE":
		return r.move(key, &v, atoi(args[2]))
	}
	return "1"
}

func (r *run) move(key string, v *value, to int) string {
	from := r.db
	r.db = to
	taken := r.get(key) != nil
	if !taken {
		r.set(key, v)
	}
	if r.db = from; taken {
		return "0"
	}
	r.set(key, nil)
	return "1"
}

func (r *run) listCommand(args []string) string {
	key := args[1]
	v := r.edit(key)
	switch args[0] {
	case "LLEN":
		return number(len(v.list))
	case "LRANGE":
		var out []string
		for _, e := range v.list {
			out = append(out, bulk(e))
		}
		return list(out)
	case "RPUSH":
		v.list = append(v.list, args[2:]...)
	case "LPUSH":
		for _, e := range args[2:] {
			v.list = append([]string{e}, v.list...)
		}
	default: // LPOP, RPOP, LMOVE from LEFT to RIGHT
		if len(v.list) == 0 {
			return absent
		}
		at := 0
		if args[0] == "RPOP" {
			at = len(v.list) - 1
		}
		e := v.list[at]
		v.list = slices.Delete(v.list, at, at+1)
		r.set(key, &v)
		if args[0] == "LMOVE" {
			to := r.edit(args[2])
			to.list = append(to.list, e)
			r.set(args[2], &to)
		}
		return bulk(e)
	}
	r.set(key, &v)
	return number(len(v.list))
}

func (r *run) hashCommand(args []string) string {
	key, field := args[1], ""
	v := r.edit(key)
	if len(args) > 2 {
		field = args[2]
	}
	old, there := v.hash[field]
	if v.hash == nil {
		v.hash = map[string]string{}
	}
	switch args[0] {
	case "HLEN":
		return number(len(v.hash))
	case "HGET":
		if !there {
			return absent
		}
		return bulk(old)
	case "HDEL":
		if !there {
			return "0"
		}
		delete(v.hash, field)
		r.set(key, &v)
		return "1"
	case "HINCRBY":
		if !there {
			old = "0"
		}
		v.hash[field] = strconv.Itoa(atoi(old) + atoi(args[3]))
		r.set(key, &v)
		return v.hash[field]
	}
	v.hash[field] = args[3]
	r.set(key, &v)
	if there {
		return "0"
	}
	return "1"
}

func (r *run) flush() {
	for key := range r.dbs[r.db] {
		r.changed = append(r.changed, place{r.db, key})
	}
	clear(r.dbs[r.db])
}

func (r *run) swap(a, b int) {
	r.dbs[a], r.dbs[b] = r.dbs[b], r.dbs[a]
	for _, db := range []int{a, b} {
		for key := range r.dbs[db] {
			r.changed = append(r.changed, place{a, key}, place{b, key})
		}
	}
}
