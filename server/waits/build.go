package waits

import "strconv"

// batch is how many arguments a call has that builds something.
const batch = 1000

// element names the i-th element, field, key or node.
func element(i int) string { return "element:" + strconv.Itoa(i) }

// name names the i-th of several keys: the first is Key.
func name(i int) string {
	if i == 0 {
		return Key
	}
	return element(i)
}

// call makes a call that does not depend on the size.
func call(args ...string) func(*Client, int) {
	return func(c *Client, _ int) { c.Do(args...) }
}

// each is what a call repeats for each of n elements.
type each func(c *Client, i int)

func one(c *Client, i int)       { c.Arg(element(i)) }
func key(c *Client, i int)       { c.Arg(name(i)) }
func pair(c *Client, i int)      { c.Arg(element(i)); c.Arg("value:" + strconv.Itoa(i)) }
func increment(c *Client, i int) { c.Arg(element(i)); c.Arg("1") }
func keyPair(c *Client, i int)   { c.Arg(name(i)); c.Arg("value:" + strconv.Itoa(i)) }

// mixed makes every second element an integer.
func mixed(c *Client, i int) {
	if i%2 == 0 {
		c.Arg(strconv.Itoa(i))
	} else {
		one(c, i)
	}
}

// words repeats the same arguments.
func words(list ...string) each {
	return func(c *Client, _ int) {
		for _, w := range list {
			c.Arg(w)
		}
	}
}

// many makes one call with n times what each writes, which is width arguments,
// between head and tail.
func many(width int, e each, head []string, tail ...string) func(*Client, int) {
	return func(c *Client, n int) {
		c.Array(len(head) + n*width + len(tail))
		for _, a := range head {
			c.Arg(a)
		}
		for i := range n {
			e(c, i)
		}
		for _, a := range tail {
			c.Arg(a)
		}
		c.Receive(1)
	}
}

// replies is many for a call with one reply for each element.
func replies(e each, head ...string) func(*Client, int) {
	return func(c *Client, n int) {
		c.Array(len(head) + n)
		for _, a := range head {
			c.Arg(a)
		}
		for i := range n {
			e(c, i)
		}
		c.Receive(n)
	}
}

// leaving is a call without arguments with one reply for each element.
func leaving(word string) func(*Client, int) {
	return func(c *Client, n int) {
		c.Send(word)
		c.Receive(n)
	}
}

// counted is many for a call whose elements follow their number.
func counted(e each, head []string, tail ...string) func(*Client, int) {
	return func(c *Client, n int) {
		many(1, e, append(head[:len(head):len(head)], strconv.Itoa(n)), tail...)(c, n)
	}
}

// built makes the same in calls of a thousand elements, many at a time.
func built(width int, e each, head ...string) func(*Client, int) {
	return func(c *Client, n int) {
		calls := 0
		for from := 0; from < n; from += batch {
			count := min(batch, n-from)
			c.Array(len(head) + count*width)
			for _, a := range head {
				c.Arg(a)
			}
			for i := range count {
				e(c, from+i)
			}
			if calls++; calls == 16 {
				c.Receive(calls)
				calls = 0
			}
		}
		c.Receive(calls)
	}
}

// pipelined makes n calls, some hundred at a time.
func pipelined(write func(c *Client, i int)) func(*Client, int) {
	return func(c *Client, n int) {
		for from := 0; from < n; from += 256 {
			count := min(256, n-from)
			for i := range count {
				write(c, from+i)
			}
			c.Receive(count)
		}
	}
}

// then does one thing after the other.
func then(steps ...func(*Client, int)) func(*Client, int) {
	return func(c *Client, n int) {
		for _, step := range steps {
			step(c, n)
		}
	}
}

// elsewhere does it on a connection of its own, which stays open.
func elsewhere(f func(*Client, int)) func(*Client, int) {
	return func(c *Client, n int) {
		o := c.Another()
		f(o, n)
		c.fail(o.err)
	}
}

// What the calls work on.
var (
	aList     = built(1, one, "RPUSH", Key)
	aHash     = built(2, pair, "HSET", Key)
	aSet      = built(1, mixed, "SADD", Key)
	twoSets   = then(aSet, built(1, mixed, "SADD", "other"))
	someKeys  = built(2, keyPair, "MSET")
	aSchedule = then(call("SCHED.CREATE", Key, "POLICY", "index"),
		built(3, func(c *Client, i int) { one(c, i); c.Arg("RATE"); c.Arg("0.5") }, "SCHED.ADD", Key))
	aMap    = then(call("PLACE.CREATE", Key), upTo(maxUnits, built(2, unit, "PLACE.SET", Key)))
	aFilter = built(1, one, "BF.MADD", Key)
	aDigest = then(call("TDIGEST.CREATE", Key), built(1, number, "TDIGEST.ADD", Key))
	aTop    = nth("TOPK.RESERVE", Key, "#", "1000", "5", "0.9")
	aSketch = nth("CMS.INITBYDIM", Key, "#", "5")
	aCuckoo = then(call("CF.RESERVE", Key, "100000"), built(1, one, "CF.INSERT", Key, "ITEMS"))
)

// upTo is for what has a limit of its own.
func upTo(limit int, f func(*Client, int)) func(*Client, int) {
	return func(c *Client, n int) { f(c, min(n, limit)) }
}

// text makes a string of n bytes under a key.
func text(key string) func(*Client, int) {
	return func(c *Client, n int) { c.Do("SETRANGE", key, strconv.Itoa(n-1), "x") }
}

// sized makes a call that has one argument of n bytes.
func sized(tail []string, head ...string) func(*Client, int) {
	return func(c *Client, n int) {
		c.Array(len(head) + 1 + len(tail))
		for _, a := range head {
			c.Arg(a)
		}
		c.Long(n)
		for _, a := range tail {
			c.Arg(a)
		}
		c.Receive(1)
	}
}

// nth makes a call; an argument "#" stands for n, "-#" for -n.
func nth(args ...string) func(*Client, int) {
	return func(c *Client, n int) {
		call := append([]string(nil), args...)
		for i, a := range call {
			switch a {
			case "#":
				call[i] = strconv.Itoa(n)
			case "-#":
				call[i] = strconv.Itoa(-n)
			case "#/8":
				call[i] = strconv.Itoa(n / 8)
			case "#/2":
				call[i] = strconv.Itoa(n / 2)
			case "last":
				call[i] = element(n - 1)
			}
		}
		c.Do(call...)
	}
}
