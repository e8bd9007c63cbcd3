package server

import (
	"encoding/binary"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/vigildb/vigil/structures/testscale"
)

// loadCuckoo makes a cuckoo filter of two sub-filters of so many bytes each, a third of which are in use.
func (c *testClient) loadCuckoo(key string, bytes, items, seed uint64) {
	c.t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	var header []byte
	for _, v := range []uint64{items, bytes / 2, 0, 2} {
		header = binary.LittleEndian.AppendUint64(header, v)
	}
	for _, v := range []uint16{2, 20, 1} {
		header = binary.LittleEndian.AppendUint16(header, v)
	}
	if got := c.do("CF.LOADCHUNK", key, "1", string(header)); got != "OK" {
		c.t.Fatalf("header: got %s", got)
	}
	slots := make([]byte, bytes)
	for k := range uint64(2) {
		for i := range slots {
			slots[i] = byte(r.IntN(256)) * byte(r.IntN(3)/2)
		}
		if got := c.do("CF.LOADCHUNK", key, strconv.FormatUint(1+(k+1)*bytes, 10), string(slots)); got != "OK" {
			c.t.Fatalf("chunk: got %s", got)
		}
	}
}

// A call that works without locks has the reply and the effect of one that keeps them, as those of a transaction do.
func TestLongCallsDoWithoutLocksWhatTheyDoWithThem(t *testing.T) {
	apart, locked := newRig(t).dial(), newRig(t).dial()
	both := []*testClient{apart, locked}
	for _, c := range both {
		c.loadCuckoo("cf1", 1<<20, 1000, 1)
		c.loadCuckoo("cf2", 1<<20, 500, 2)
		c.loadCuckoo("few", 1<<20, 10, 3)
		c.want("CF.ADD few gone", "(int) 1")
		for _, n := range []string{"1", "2"} {
			c.want("BF.RESERVE bf"+n+" 0.01 3000000", "OK")
			c.want("CMS.INITBYDIM cms"+n+" 100000 5", "OK")
			c.want("TDIGEST.CREATE td"+n+" COMPRESSION 20000", "OK")
			for i := range testscale.Rounds(30) {
				add, count, values := []string{"BF.MADD", "bf" + n}, []string{"CMS.INCRBY", "cms" + n}, []string{"TDIGEST.ADD", "td" + n}
				for j := range 1000 {
					x := strconv.Itoa((i*1000 + j) * 7919 % 65537)
					add, count, values = append(add, n+x), append(count, n+x, x), append(values, x)
				}
				c.do(add...)
				c.do(count...)
				c.do(values...)
			}
		}
		c.want("TOPK.RESERVE top 3 10 1 1", "OK")
		c.want("TOPK.INCRBY top a 100000 b 100000", "[(nil) (nil)]")
	}
	increments := []string{"TOPK.INCRBY", "top"}
	for i := range 50 {
		increments = append(increments, "item:"+strconv.Itoa(i), "90000")
	}
	for _, call := range [][]string{
		{"CF.COMPACT", "cf1"}, {"CF.DEL", "few", "gone"}, {"CF.INFO", "few"},
		{"CF.MERGE", "cf1", "1", "cf2"}, {"CF.MERGE", "cf3", "2", "cf1", "cf2"},
		{"BF.MERGE", "bf1", "1", "bf2"}, {"BF.MERGE", "bf3", "2", "bf1", "bf2"},
		{"CMS.MERGE", "cms1", "2", "cms1", "cms2", "WEIGHTS", "2", "3"}, {"CMS.MERGE", "cms1", "2", "cms1", "cms2", "WEIGHTS", "-1", "-1"},
		{"TDIGEST.MERGE", "td1", "1", "td2"}, {"TDIGEST.MERGE", "td3", "2", "td1", "td2", "COMPRESSION", "100"},
		increments, append(increments, "x", "-1"),
		{"PEXPIRE", "bf1", "1000000"}, {"BF.MERGE", "bf1", "1", "bf3"}, {"PTTL", "bf1"},
		{"COPY", "bf1", "bf9"}, {"PTTL", "bf9"}, {"COPY", "bf1", "bf9"}, {"COPY", "cms1", "bf9", "REPLACE"}, {"COPY", "cf1", "cf9", "DB", "1"},
		{"PEXPIRE", "cms2", "1000000"}, {"RENAMENX", "cms2", "bf9"}, {"RENAMENX", "cms2", "cms5"}, {"PTTL", "cms5"}, {"EXISTS", "cms2"}, {"RENAME", "cms5", "cms5"},
		{"RENAME", "cms5", "bf9"}, {"PTTL", "bf9"}, {"EXISTS", "cms5"}, {"RENAME", "cms5", "bf9"}, {"MOVE", "bf9", "1"}, {"EXISTS", "bf9"}, {"COPY", "bf1", "bf9"}, {"MOVE", "bf9", "1"},
		{"EXISTS", "bf9"}, {"BF.SCANDUMP", "bf1", "1"}, {"CF.SCANDUMP", "cf1", "1"}, {"DBSIZE"},
		{"BF.ADD", "bf1", "new"}, {"CF.ADD", "cf1", "new"}, {"CMS.INCRBY", "cms1", "new", "1"}, {"TOPK.ADD", "top", "new"},
	} {
		name := strings.Join(call[:min(len(call), 4)], " ")
		want := locked.inMulti(strings.Join(call, " "))
		if got := "[" + apart.do(call...) + "]"; got != want {
			t.Fatalf("%s: got %.200s, want %.200s", name, got, want)
		}
		for _, key := range call[1:min(len(call), 3)] {
			// Replies of megabytes would be most of what this test does under the race detector.
			if apart.do("DEBUG", "DIGEST-VALUE", key) != locked.do("DEBUG", "DIGEST-VALUE", key) {
				t.Fatalf("%s: %s differs", name, key)
			}
		}
	}
	for _, key := range []string{"cf1", "bf1", "cms1", "td1", "top"} {
		payload, err := strconv.Unquote(apart.do("DUMP", key))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range both {
			c.want("SET again x", "OK")
			if got := c.do("RESTORE", "again", "0", payload); got != "(error) BUSYKEY Target key name already exists." {
				t.Errorf("RESTORE of %s: got %s", key, got)
			}
		}
		broken := payload[:len(payload)-1] + "?"
		for _, restore := range [][]string{{"RESTORE", "again", "0", broken, "REPLACE"}, {"RESTORE", "again", "5000", payload, "REPLACE", "ABSTTL"},
			{"EXISTS", "again"}, {"RESTORE", "again", "0", payload}, {"PING"}} {
			got := apart.do(restore...)
			locked.want("MULTI", "OK")
			locked.do(restore...)
			if want := locked.do("EXEC"); "["+got+"]" != want {
				t.Fatalf("%s of %s: got %.100s, want %.100s", restore[0], key, got, want)
			}
		}
		if got := apart.do("DUMP", "again"); got != locked.do("DUMP", "again") || got != strconv.Quote(payload) && apart.do("DUMP", key) != got {
			t.Errorf("%s is something else when it is restored", key)
		}
	}
}

// Items that are added while filters are merged or compacted are in them afterwards, as each of the calls is made at one moment.
func TestLongCallsAndChangesOfTheirKeysComeOneAfterTheOther(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	c.loadCuckoo("cf", 1<<20, 1000, 4)
	c.want("BF.RESERVE bf 0.0001 700000", "OK")
	c.want("BF.RESERVE other 0.0001 700000", "OK")
	for i := range 5000 {
		c.want("BF.ADD other other:"+strconv.Itoa(i), "(int) 1")
	}
	done := make(chan int)
	go func() {
		d, n := r.dial(), 0
		for ; ; n++ {
			select {
			case done <- n:
				return
			default:
			}
			item := "item:" + strconv.Itoa(n)
			d.do("CF.ADD", "cf", item)
			d.do("BF.ADD", "bf", item)
		}
	}()
	for range 5 {
		c.want("CF.COMPACT cf", "OK")
		c.want("BF.MERGE bf 1 other", "OK")
	}
	for n := <-done; n > 0; n-- {
		item := "item:" + strconv.Itoa(n-1)
		c.want("CF.EXISTS cf "+item, "(int) 1")
		c.want("BF.EXISTS bf "+item, "(int) 1")
	}
	c.want("BF.EXISTS bf other:4999", "(int) 1")
	if n := r.srv.watches.n.Load(); n != 0 {
		t.Errorf("%d keys are watched when all calls are over", n)
	}
}

// What is added while a filter gets another name, in many turns, is in it afterwards: the call is made at one moment.
func TestNothingIsLostWhileAFilterIsRenamed(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	c.want("BF.RESERVE bf 0.0001 700000", "OK")
	before := []string{"BF.MADD", "bf"}
	for i := range 5000 { // so that all of its pages are there
		before = append(before, "before:"+strconv.Itoa(i))
	}
	c.do(before...)
	done := make(chan []string)
	var times atomic.Int64 // that something was added
	go func() {
		d, added := r.dial(), []string(nil)
		for n := 0; ; n++ {
			select {
			case done <- added:
				return
			default:
			}
			item := "item:" + strconv.Itoa(n)
			if d.do("BF.INSERT", "bf", "NOCREATE", "ITEMS", item) == "[(int) 1]" {
				added = append(added, item)
				times.Add(1)
			}
		}
	}()
	for turn := 0; turn < testscale.Rounds(5) || times.Load() < 5; turn++ {
		c.want("RENAME bf other", "OK")
		c.want("MOVE other 1", "(int) 1")
		c.want("SELECT 1", "OK")
		c.want("RENAMENX other bf", "(int) 1")
		c.want("MOVE bf 0", "(int) 1")
		c.want("SELECT 0", "OK")
	}
	for _, item := range <-done {
		c.want("BF.EXISTS bf "+item, "(int) 1")
	}
	c.want("EXISTS other", "(int) 0")
}
