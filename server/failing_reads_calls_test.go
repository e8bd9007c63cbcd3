package server

import (
	"fmt"
	"strconv"
	"strings"
)

// readsKeys are the keys of the data that calls which cannot read work on. Those with a 2 have half of the
// elements of the other one, and others.
var readsKeys = strings.Fields("list list2 hash set set2 ints ints2 zset zset2 geo stream stream2 text num hll hll2 bloom bloom2 cuckoo cms cms2 topk digest digest2 doc sched place bounded lasting")

// readsBuild are the calls that make the data: values of several pages, whose elements have long names.
func readsBuild() (calls [][]string) {
	const n = 400
	each := func(from int, head []string, elem func(i int) []string) {
		for range 4 {
			call := head
			for range n / 4 {
				call = append(call[:len(call):len(call)], elem(from)...)
				from++
			}
			calls = append(calls, call)
		}
	}
	one := func(i int) []string { return []string{longName(i)} }
	scored := func(i int) []string { return []string{strconv.Itoa(i), longName(i)} }
	for i, suffix := range []string{"", "2"} {
		each(i*n/2, []string{"RPUSH", "list" + suffix}, one)
		each(i*n/2, []string{"SADD", "set" + suffix}, one)
		each(i*n/2, []string{"ZADD", "zset" + suffix}, scored)
		each(i*n/2, []string{"PFADD", "hll" + suffix}, one)
		for j := range 10 {
			each((i*5+j)*n, []string{"SADD", "ints" + suffix}, func(i int) []string { return []string{strconv.Itoa(i * 1_000_003_000)} })
		}
	}
	each(0, []string{"HSET", "hash"}, func(i int) []string { return []string{longName(i), strconv.Itoa(i)} })
	each(0, []string{"GEOADD", "geo"}, func(i int) []string {
		return []string{fmt.Sprint(float64(i%20) / 10), fmt.Sprint(float64(i) / 10), longName(i)}
	})
	for i := range 2 * n {
		calls = append(calls, []string{"XADD", "stream" + []string{"", "2"}[i/n], "1-" + strconv.Itoa(i%n+1), "field", longName(i)})
	}
	calls = append(calls, []string{"SCHED.CREATE", "sched", "SEED", "1"}, []string{"PLACE.CREATE", "place", "SEED", "1"})
	for i, suffix := range []string{"", "2"} {
		calls = append(calls, []string{"TDIGEST.CREATE", "digest" + suffix, "COMPRESSION", "2000"})
		each(i*n/2, []string{"TDIGEST.ADD", "digest" + suffix}, func(i int) []string { return []string{strconv.Itoa(i)} })
	}
	each(0, []string{"SCHED.ADD", "sched"}, func(i int) []string { return []string{longName(i), "RATE", strconv.Itoa(i % 7)} })
	calls = append(calls, []string{"JSON.SET", "doc", "$", `{"l":[],"o":{},"n":1}`})
	each(0, []string{"JSON.ARRAPPEND", "doc", "$.l"}, func(i int) []string { return []string{fmt.Sprintf(`{"n":%d,"s":%q,"t":[true]}`, i, longName(i))} })
	for i := range n {
		calls = append(calls, []string{"JSON.SET", "doc", fmt.Sprintf("$.o.m%d", i), fmt.Sprintf(`["%0*d"]`, 60, i)})
	}
	for _, call := range []string{
		"HPEXPIREAT hash 4000000000000 FIELDS 2 $7 $8", "SPEXPIREAT set 4000000000000 MEMBERS 2 $8 $9",
		"XGROUP CREATE stream group 0", "XGROUP CREATE stream idle $399x", "XREADGROUP GROUP group one COUNT 200 STREAMS stream >",
		"XREADGROUP GROUP group two COUNT 100 STREAMS stream >", "XGROUP CREATE stream2 group 1-200",
		"SETRANGE text 200000 end", "SET lasting x EX 100000", "SETRANGE text 0 begin", "SET num 10", "BF.RESERVE bloom 0.001 50000", "BF.MADD bloom a b c", "BF.RESERVE bloom2 0.001 50000", "BF.MADD bloom2 b x",
		"TOPK.RESERVE topk 100 9000 5 0.9", "TOPK.ADD topk a b c d",
		"CMS.INITBYDIM cms 9000 5", "CMS.INITBYDIM cms2 9000 5", "CMS.INCRBY cms a 5 b 7 c 9", "CMS.INCRBY cms2 a 5 x 7",
		"CF.RESERVE cuckoo 50000", "CF.INSERT cuckoo ITEMS a b c d", "CF.DEL cuckoo d",
		"SCHED.PAUSE sched 0 $9", "SCHED.NEXT sched COUNT 400 LEASE 1000000", "SCHED.OBSERVE sched $8 1",
		"XACK stream group 1-299 1-300", "XACK stream group 1-1 1-2", "PLACE.SET place a 1 b 2 DOMAIN rack",
		"PLACE.CREATE bounded SEED 1 BOUND 0.5", "PLACE.SET bounded a 1 b 2", "PLACE.ASSIGN bounded x y",
	} {
		calls = append(calls, readsWords(strings.ReplaceAll(call, "$399x", "1-200")))
	}
	return calls
}

// readsWarm are calls that read some of the pages.
var readsWarm = []string{"LINDEX list 0", "LINDEX list2 -1", "HGET hash $3", "HGET hash $100", "SISMEMBER set $3", "SISMEMBER set2 $300",
	"SISMEMBER ints 1000003000", "JSON.GET doc $.l[3]", "JSON.GET doc $.o.m300", "ZSCORE zset $3", "ZRANGE zset 0 5", "ZRANK zset2 $300", "ZRANGE geo 0 5", "XRANGE stream 1-100 1-120", "XPENDING stream group 1-1 1-9 5"}

// readsNothing says of commands that write why none of their reads can fail half way.
var readsNothing = map[string]string{
	"FUNCTION LOAD": libraries, "FUNCTION DELETE": libraries, "FUNCTION FLUSH": libraries, "FUNCTION RESTORE": libraries,
	"FLUSHDB": wholes, "FLUSHALL": wholes, "SWAPDB": wholes,
	"MIGRATE":   "it needs another server, reads as DUMP does, and removes as DEL does",
	"BLESS SET": blessings, "BLESS CLEAR": blessings, "CLUSTER FLUSHSLOT": "it works without a lock of its own, and removes as DEL does",
	"PFDEBUG": "it is for tests of one representation",
}

const (
	libraries = "it is about libraries, which are in memory"
	blessings = "it looks for its key as PERSIST does, and what it changes is no part of a value"
	wholes    = "it is about whole databases, and reads none of their keys"
)

// readsCalls are calls that change the data. $7 is a long name.
func readsCalls() []string {
	var calls []string
	for line := range strings.Lines(readsText) {
		if line = strings.TrimSpace(line); line != "" {
			calls = append(calls, line)
		}
	}
	return calls
}

const readsText = `
DEL list hash set ints zset stream text
UNLINK zset2 text set2
RENAME list other
RENAME hash list
RENAME num zset
RENAMENX zset other
COPY list other
COPY hash set REPLACE
COPY ints other DB 1
COPY zset other
COPY stream other
COPY text other
COPY bloom other
COPY sched other
MOVE set 1
MOVE text 1
EXPIRE list 1000000
EXPIRE text 0
PEXPIRE hash 1000000000
EXPIREAT zset 4000000000
PERSIST lasting
PEXPIREAT stream 4000000000000
RESTORE other 0 "\x00\xC0\n\t\x00\xbem\x06\x89Z(\x00\n"
RESTORE list 0 "\x00\xC0\n\t\x00\xbem\x06\x89Z(\x00\n" REPLACE
SORT list ALPHA DESC STORE other
SORT list ALPHA LIMIT 0 10 STORE list2
SORT ints LIMIT 5 10 STORE list
SORT zset BY nosort STORE hash
SORT set BY nosort GET hash->0 STORE other
SET text x
SET list x XX
SET num 11 GET
SETNX other x
SETEX list 1000 x
PSETEX text 1000000 x
GETSET num x
GETDEL num
GETDEL text
GETEX num EX 1000
GETEX text PX 1000000
APPEND text x
APPEND num 1
SETRANGE text 100000 x
MSET num 1 list 2 other 3
MSETNX other 1 another 2
MSETEX 2 num 1 other 2 EX 1000
MSETEX 3 num 1 text 2 list 3 XX EX 1000
MSETEX 2 num 1 text 2
DELEX num
DELEX num IFEQ 10
DELIFEQ num 10
INCR num
DECR num
INCRBY num 5
DECRBY num 5
INCRBYFLOAT num 1.5
INCREX num BYINT 5 EX 1000
INCREX num BYFLOAT 1.5 SATURATE
SETBIT text 800000 1
BITOP NOT other text
BITOP OR list text num
BITFIELD text SET u8 0 7 INCRBY i8 100000 1
LPUSH list x
RPUSH list x y z
LPUSHX list x
RPUSHX list x
LMOVEM list list2 LEFT RIGHT COUNT 250 BULK
LMOVEM list list RIGHT LEFT COUNT 250 OBO
BLMOVEM list list2 LEFT LEFT 0 EXACTLY 250 BULK
LPOP list
RPOP list
LPOP list 100
RPOP list 399
LPOP list 400
LMPOP 2 other list LEFT COUNT 3
LMPOP 1 list RIGHT COUNT 150
BLPOP other list 1
BRPOP list 1
BLMPOP 1 2 other list RIGHT COUNT 120
LMOVE list list2 LEFT RIGHT
LMOVE list other RIGHT LEFT
LMOVE list list LEFT RIGHT
RPOPLPUSH list list2
RPOPLPUSH list list
BLMOVE list list2 RIGHT LEFT 1
BRPOPLPUSH list list2 1
LSET list 200 x
LSET list -1 $7
LSET list 0 $7
LINSERT list BEFORE $300 x
LINSERT list AFTER $0 $1
LINSERT list BEFORE $200 $1
LREM list 0 $200
LREM list -1 $0
LREM list 2 $399
LTRIM list 50 -50
LTRIM list 1 -1
LTRIM list 0 -2
LTRIM list 100 100
LTRIM list 300 350
LTRIM list 500 600
HSET hash $3 x
HSET hash $3 x $200 y $1000 z $399 u
HSET hash $1000 x
HMSET hash $3 x $399 y
HSETNX hash $1000 x
HDEL hash $3
HDEL hash $3 $200 $399 $1000
HINCRBY hash $3 1
HINCRBY hash $1000 1
HINCRBYFLOAT hash $300 1.5
HEXPIRE hash 100000 FIELDS 3 $3 $200 $399
HEXPIRE hash 0 FIELDS 2 $3 $399
HPEXPIRE hash 100000000 FIELDS 2 $3 $399
HEXPIREAT hash 4000000000 FIELDS 2 $3 $399
HPEXPIREAT hash 4000000000000 NX FIELDS 3 $7 $3 $399
HPERSIST hash FIELDS 3 $7 $3 $8
HGETDEL hash FIELDS 3 $3 $200 $399
HGETEX hash EX 100000 FIELDS 3 $3 $200 $399
HGETEX hash PERSIST FIELDS 2 $8 $399
HSETEX hash EX 100000 FIELDS 3 $3 x $200 y $1000 z
HSETEX hash FXX FIELDS 2 $3 x $399 y
SEXPIRE set 100000 MEMBERS 3 $3 $200 $399
SEXPIRE set 0 MEMBERS 2 $3 $399
SEXPIRE ints 100000 MEMBERS 2 1000003000 2000006000
SPEXPIRE set 100000000 MEMBERS 2 $3 $399
SEXPIREAT set 4000000000 MEMBERS 2 $3 $399
SPEXPIREAT set 4000000000000 NX MEMBERS 3 $7 $3 $399
SPERSIST set MEMBERS 3 $8 $3 $9
SADDEX set EX 100000 MEMBERS 3 $3 $1000 x
SADDEX set MEMBERS 2 $8 $399
SADDEX set MXX PXAT 1 MEMBERS 2 $3 $399
SADDEX ints EX 100000 MEMBERS 3 5 1000003000 3000009000
SADD set $1000
SADD set $3 $1000 x $2000 $3000 1 2 3
SADD ints 5
SADD ints 5 1000003000 3000009000 x 2000006000001
SREM set $3
SREM set $3 $200 $399 $1000
SREM ints 1000003000 3000009000 2000006000000 7
SMOVE set set2 $3
SMOVE set set2 $300
SMOVE ints set 1000003000
SPOP set
SPOP set 10
SPOP set 395
SPOP ints 10
SPOP ints 3990
SINTERSTORE other set set2
SINTERSTORE set set set2
SINTERSTORE list set set2
SINTERSTORE other ints ints2
SUNIONSTORE other set set2 ints
SUNIONSTORE set set set2
SDIFFSTORE other set set2
SDIFFSTORE zset ints ints2
ZADD zset 5 $1000
ZADD zset 5.5 $3 100.5 $200 7 $1000 1000 $399
ZADD zset XX CH 5.5 $3 1000 $399
ZADD zset INCR 5 $300
ZADD zset GT 500 $3 1 $300
ZINCRBY zset 5 $300
ZRANGESTORE other zset 10 300
ZRANGESTORE zset zset 10 300
ZRANGESTORE list zset 100 200 BYSCORE
ZREM zset $3
ZREM zset $3 $200 $399 $1000
ZREMRANGEBYRANK zset 100 200
ZREMRANGEBYRANK zset 0 -2
ZREMRANGEBYSCORE zset 100 200
ZREMRANGEBYSCORE zset -inf 7
ZREMRANGEBYLEX zset [$0 [$300
ZPOPMIN zset
ZPOPMIN zset 100
ZPOPMAX zset 100
ZPOPMAX zset 399
ZMPOP 2 other zset MIN COUNT 100
BZPOPMIN other zset 1
BZPOPMAX zset 1
BZMPOP 1 1 zset MAX COUNT 100
ZUNIONSTORE other 2 zset zset2 WEIGHTS 1 2
ZUNIONSTORE zset 2 zset set2
ZINTERSTORE other 3 zset zset2 set
ZINTERSTORE zset 2 zset zset2
ZDIFFSTORE other 2 zset zset2
ZDIFFSTORE list 2 zset set2
GEOADD geo 1 1 x
GEOADD geo 1 1 $3 2 2 $399 3 3 x
GEOSEARCHSTORE other geo FROMLONLAT 1 10 BYRADIUS 1000 km
GEOSEARCHSTORE geo geo FROMMEMBER $100 BYBOX 500 500 km ASC COUNT 20
GEORADIUS geo 1 10 1000 km STORE other
GEORADIUSBYMEMBER geo $100 1000 km STOREDIST list
XADD stream 2-1 field x
XADD stream MAXLEN 100 2-1 field x
XADD stream MAXLEN = 5 2-1 field x
XADD stream MAXLEN ~ 5 2-1 field x
XADD stream MINID 1-250 ACKED 2-1 field x
XADD stream MINID 1-250 DELREF 2-1 field x
XTRIM stream MAXLEN 100
XTRIM stream MAXLEN 399
XTRIM stream MAXLEN ~ 100
XTRIM stream MINID 1-215
XTRIM stream MAXLEN 0
XTRIM stream MAXLEN 250 DELREF
XTRIM stream MAXLEN 250 ACKED
XREADGROUP GROUP group three COUNT 50 STREAMS stream >
XREADGROUP GROUP group three COUNT 150 STREAMS stream >
XREADGROUP GROUP group three NOACK STREAMS stream >
XREADGROUP GROUP group one CLAIM 0 COUNT 20 STREAMS stream >
XREADGROUP GROUP idle one COUNT 300 STREAMS stream >
XREADGROUP GROUP group three COUNT 50 STREAMS stream stream2 > >
XREADGROUP GROUP group one STREAMS stream2 stream 0 0
XDEL stream 1-1
XDEL stream 1-1 1-200 1-400 9-9
XDEL stream 1-3 1-2 1-4 1-399
XDELEX stream DELREF IDS 3 1-1 1-200 1-400
XDELEX stream ACKED IDS 3 1-1 1-200 1-400
XNACK stream group FAIL IDS 2 1-1 1-200
XNACK stream group SILENT IDS 2 1-1 1-299 FORCE
XADD stream IDMP p 1 * field x
XCFGSET stream IDMP-MAXSIZE 5
XREADGROUP GROUP group c MAXCOUNT 3 STREAMS stream >
XACKDEL stream group IDS 3 1-1 1-200 1-290
XACKDEL stream group DELREF IDS 3 1-1 1-200 1-290
XSETID stream 5-0
XGROUP CREATE stream new 1-100
XGROUP SETID stream group 1-100
XGROUP SETID stream group 1-350 ENTRIESREAD 350
XGROUP DESTROY stream group
XGROUP CREATECONSUMER stream group new
XGROUP DELCONSUMER stream group one
XACK stream group 1-1 1-150 1-290
XCLAIM stream group two 0 1-1 1-100 1-199
XCLAIM stream group new 0 1-1 1-250 1-400 FORCE
XAUTOCLAIM stream group two 0 1-50 COUNT 100
XAUTOCLAIM stream group new 0 0 COUNT 250 JUSTID
PFADD hll x
PFMERGE hll hll2
PFMERGE other hll hll2
JSON.SET doc $.l[200].n 7
JSON.SET doc $..n 7
JSON.SET doc $.o.new 7
JSON.SET doc $ 7
JSON.SET other $ 7
JSON.MSET doc $.l[0].n 7 other $ 1 doc $.l[399].n 8
JSON.MERGE doc $.o {"m1":null,"m399":{"a":1},"new":2}
JSON.MERGE doc $.l[*] {"n":null}
JSON.DEL doc $.l[100:300]
JSON.DEL doc $.o.m200
JSON.DEL doc
JSON.FORGET doc $..t
JSON.CLEAR doc $.l
JSON.CLEAR doc $.l[*].t
JSON.NUMINCRBY doc $.l[300].n 1
JSON.NUMMULTBY doc $..n 2
JSON.NUMPOWBY doc $.l[?(@.n>390)].n 2
JSON.TOGGLE doc $.l[*].t[0]
JSON.STRAPPEND doc $.l[17].s "\"x\""
JSON.STRAPPEND doc $.l[*].s "\"x\""
JSON.ARRAPPEND doc $.l 1 2
JSON.ARRAPPEND doc $.l[*].t 1 2
JSON.ARRINSERT doc $.l 200 1 2
JSON.ARRINSERT doc $.l[*].t 0 1
JSON.ARRPOP doc $.l
JSON.ARRPOP doc $.l 200
JSON.ARRPOP doc $..t
JSON.ARRTRIM doc $.l 100 200
JSON.ARRTRIM doc $..t 1 1
JSON.ARRTRIM doc $.l 5 1
BF.RESERVE other 0.01 1000
BF.ADD bloom x
BF.MADD bloom a x y z
BF.INSERT bloom ITEMS x y
BF.LOADCHUNK bloom 2 x
BF.MERGE bloom 1 bloom2
BF.MERGE other 2 bloom bloom2
CMS.INITBYDIM other 10 5
CMS.INITBYPROB other 0.01 0.01
CMS.INCRBY cms a 5
CMS.INCRBY cms a 5 x 7 y 9 z 3
CMS.MERGE cms 1 cms2
CMS.MERGE cms 2 cms2 cms WEIGHTS 2 3
COPY cms other
TOPK.RESERVE other 10
TOPK.ADD topk a
TOPK.INCRBY topk a 5 x 7 y 9 z 3
COPY topk other
TDIGEST.CREATE other
TDIGEST.ADD digest 5
TDIGEST.RESET digest
TDIGEST.MERGE digest 1 digest2
TDIGEST.MERGE other 2 digest digest2
COPY digest other
CF.RESERVE other 1000
CF.ADD cuckoo x
CF.ADDNX cuckoo y
CF.INSERT cuckoo ITEMS a x y z
CF.INSERTNX cuckoo ITEMS a x y z
CF.DEL cuckoo b
CF.COMPACT cuckoo
CF.MERGE cuckoo 1 cuckoo
CF.MERGE other 1 cuckoo
CF.LOADCHUNK cuckoo 2 x
COPY cuckoo other
SCHED.CREATE other
SCHED.ADD sched x RATE 1
SCHED.ADD sched $3 RATE 5 x RATE 1
SCHED.REM sched $3
SCHED.REM sched $3 $300 x
SCHED.NEXT sched COUNT 5
SCHED.OBSERVE sched $6 3
SCHED.FAIL sched $6
SCHED.SIGNAL sched $7 $8
SCHED.PAUSE sched 1000 $7
SCHED.RESUME sched $9
SCHED.TAKE sched 1000 $8
SCHED.ALTER sched LEASE 5000
SCHED.ALTER sched POLICY sqrtage BUDGET 2
SCHED.LIMIT sched host GAP 5
SCHED.HOLD sched host 5000
SCHED.ADD sched $3 GROUP host DEADLINE 9 AGE 5 SEEN 3 4 x GROUP host
SCHED.OBSERVE sched $6 3 COST 2
PLACE.CREATE other
PLACE.SET place c 1
PLACE.DEL place a
PLACE.ASSIGN bounded x z
PLACE.RELEASE bounded y
PLACE.IMPORT place "VPLC\x01\x01\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00N\x02\x01a\x00\x00\x00\x00\x00\x00\xf0?\x00\x01b\x00\x00\x00\x00\x00\x00\xf0?\x04rack\x00Q\xdfHb" REPLACE
`
