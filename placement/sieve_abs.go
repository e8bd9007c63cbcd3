package placement

import "math/bits"

// sieveAbs is SIEVE with absolute capacities: the strategy that maps get by
// default.
//
// Model. The capacity of unit i is an integer w_i, W is their sum. The domain
// is [0, 2^K), cut into ranges; as in SIEVE (Brinkmann, Salzwedel, Scheideler,
// SPAA 2002) a range has at most one owner, an owner's interval starts at the
// range's lower end, and a unit has at most one range that it fills partly.
// The intervals of unit i measure exactly w_i, never a renormalised share. An
// object draws points of the domain until one lies in an interval; its owner
// has the object.
//
// Faithful (Theorem 8.9, without fall-back unit or adjusted shares). Given
// that a draw hits, it hits i with probability w_i/W. Points are integers, so
// there is no rounding anywhere.
//
// Competitive (in place of Lemma 8.10). SIEVE keeps the sum of all intervals
// at a constant, so a change of one capacity changes every interval: moves are
// up to twice the optimum. Here growing i adds to the hits of i only: an
// object stays, or its sequence now meets the new interval first and goes to
// i. Moved is what i gains, which no strategy can avoid: ratio 1, and nothing
// moves between other units. Shrinking is the same read backwards.
//
// Growth. Splitting ranges moves nothing: intervals are the same sets of
// points. Doubling the domain moves nothing either, because draws come by
// level. Level j >= 1 is [2^(j-1), 2^j), level 0 the point 0. Level j has an
// endless sequence of points of its own and one of fair coins. The sequence
// S_K of the domain 2^K tosses the next coin of level K; heads takes the next
// point of level K, tails the next element of S_(K-1). So S_(K-1) is a
// subsequence of S_K, uniform on its domain, and while the new half is empty
// all first hits are the same. Coins: each point has a word of 64, and
// bit i-1 is level i's next coin after that point; hash is the word before the
// first. A point is in S_i once, so each level's coins are fresh, and finding
// the level of a draw costs one bit scan.
//
// Halving. After a unit shrank the domain is cut to the least power of two that
// holds all points in use, which moves nothing. If less than 3/8 of that is in
// use, it is cut to the power of two of which 3/8 to 3/4 is, and the measure m
// above is placed below. An object moves only if its first hit among all old
// and new intervals is in the m given up or the m taken: at most 2m/(W+m) <= 1
// of them move. The changes before pay for it. From cut to cut W at least
// halves; the optimum of the changes that do it adds to ln 2 = 0.69 if each is
// small, to 1/2 if one does it all. So cuts cost at most 1.44 of the optimum
// for small units, twice the optimum for any, and 0.67/0.69 if units are small
// and half of W is above. After a
// doubling nothing is above, and doubling needs 7/8 in use: units must gain m
// before a cut can move it. Measured (a test): 0 in a steady state of joins and
// leaves, 0.6 of the optimum while 160 units leave until 3 are left. Between
// the cuts every change of one unit moves the optimum.
//
// Cost. A lookup takes 2^K/W draws: 1 to 2.3 of a growing table, up to 8/3 of a
// shrinking one. A draw that misses costs far more than one that hits, since
// the processor cannot guess it. A change takes time in proportion to the units
// and the ranges of its own, or to the table when that is rebuilt. Memory is 4
// bytes a range for lookups and 4 in the lists of owners, 2 to 16 ranges a unit
// of equal capacities. Segments have ranges of their own width: when capacities
// grow a million times, the low levels, which are rarely drawn, keep their old
// narrow ranges, and the table grows by 16 ranges a unit and level at most.
//
// Left open by the notes: what happens when capacities fall for good (the
// halving rule above is ours), and bounds for changes of several units at once.
// Apply lets growing units take what shrinking ones released first, so
// that replacing a unit moves what it had and nothing else; rounding to whole
// ranges may add a little.
type sieveAbs struct {
	mask   uint64 // 2^K - 1, the coins of the levels in use
	levels [64]level
	table  []uint32 // by range: owner << 16 | fill, see paint

	units []absUnit // by number; weight 0 where there is none
	n     int       // units with a weight
	last  int       // the least of them: has what no draw hits, see absRounds

	segments []segment
	total    uint64 // W
	taken    uint64 // the widths of all owned ranges
	free     rangeSet
	released []uint32 // given up during this Apply, taken again first
}

// level says where the points of a level are in the table.
type level struct {
	offset int64 // point p is in range offset + p >> width
	width  uint8 // log2 of the width of its ranges
	coarse uint8 // bits of a point within a range that fill leaves out
}

// segment is a part of the domain with ranges of one width: the first is
// [0, 2^b), the following are the levels b+1 .. K.
type segment struct {
	start uint64
	first uint32 // number of its first range
	width uint8
}

type absUnit struct {
	weight uint64
	fill   uint64   // measure in part
	part   int64    // the range filled partly, -1 if none is
	ranges []uint32 // ascending
}

const (
	// absRounds bounds the draws of a lookup. At least 3/8 of the domain is
	// in use, so 96 draws miss with probability (5/8)^96 < 2^-65: less than
	// one hash of all 2^64.
	absRounds = 96

	absPoint = 0x9216D5D98979FB1B // odd numbers of the streams
	absCoin  = 0xD1310BA698DFB5AD

	// fillBits of a fill are in the table; the unit knows the rest.
	fillBits = 16
	fillMax  = 1<<fillBits - 1
)

// specSieveAbs is the row of SIEVE with absolute capacities. It has no options.
func specSieveAbs() Spec {
	return Spec{Name: "sieve-abs", Number: 7, Weighted: true, MaxUnits: MaxUnits,
		Summary: "SIEVE with absolute capacities: exact shares, moves the optimum.",
		New:     func(Options) Strategy { return new(sieveAbs) }}
}

// Locate implements Strategy. The bits of hash are the first coins.
func (t *sieveAbs) Locate(hash uint64) int {
	if t.n == 0 {
		return -1
	}
	j := bits.Len64(hash & t.mask)
	l := &t.levels[j&63]
	p := levelPoint(draw(hash+uint64(64+j)*absPoint), j)
	e := t.table[l.offset+int64(p>>(l.width&63))]
	f := uint32((p & (1<<(l.width&63) - 1)) >> (l.coarse & 63))
	if f < e&fillMax {
		return int(e >> fillBits)
	}
	if f == e&fillMax && t.exactly(p, l, e) {
		return int(e >> fillBits)
	}
	return t.retry(hash, j)
}

// levelPoint makes a point of level j out of 64 random bits.
func levelPoint(random uint64, j int) uint64 {
	return (random | 1<<63) >> 1 >> ((63 - j) & 63)
}

// exactly decides a point whose upper bits equal the fill in the table.
func (t *sieveAbs) exactly(p uint64, l *level, e uint32) bool {
	r := l.offset + int64(p>>l.width)
	if u := int(e >> fillBits); u < len(t.units) && t.units[u].part == r {
		return p&(1<<l.width-1) < t.units[u].fill
	}
	return e&fillMax != 0 // a full range; a free one has no fill
}

// hit returns the owner of a point, -1 if it is free.
func (t *sieveAbs) hit(p uint64, j int) int {
	l := &t.levels[j&63]
	e := t.table[l.offset+int64(p>>(l.width&63))]
	f := uint32((p & (1<<(l.width&63) - 1)) >> (l.coarse & 63))
	if f < e&fillMax || f == e&fillMax && t.exactly(p, l, e) {
		return int(e >> fillBits)
	}
	return -1
}

// lowerCoins is the mask of the coins of levels below j.
func lowerCoins(j int) uint64 { return (1<<(j&63) - 1) >> 1 }

// retry goes on after a first draw from level j. coins holds the next coin of
// every level: those of the levels that the last draw passed, j and above, are
// bits of the word that belongs to that draw.
func (t *sieveAbs) retry(hash uint64, j int) int {
	var drawn [64]uint8 // points that each level has given
	drawn[j&63] = 1
	coins, id := hash, uint64(64+j)
	for range absRounds - 1 {
		lower := lowerCoins(j)
		coins = coins&lower | draw(hash+id*absCoin)&^lower
		j = bits.Len64(coins & t.mask)
		drawn[j&63]++
		id = 64*uint64(drawn[j&63]) + uint64(j)
		if u := t.hit(levelPoint(draw(hash+id*absPoint), j), j); u >= 0 {
			return u
		}
	}
	return t.last
}
