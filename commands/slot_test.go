package commands

import "testing"

// The numbers are those of redis-server's CLUSTER KEYSLOT. 0x31c3 is the check value of
// CRC-16/XMODEM.
func TestKeySlotIsThatOfRedis(t *testing.T) {
	if got := crc16([]byte("123456789")); got != 0x31c3 {
		t.Errorf("CRC of 123456789: %#x, want 0x31c3", got)
	}
	for key, want := range map[string]int{
		"": 0, "foo": 12182, "{a}b": 15495, "a": 15495, "x{a}b{c}": 15495, "{}b": 6680, "a{b": 13340,
		"foo{{bar}}": 4015, "{bar": 4015, "}a{": 11710, "{}{a}": 13650,
	} {
		if got := KeySlot([]byte(key)); got != want {
			t.Errorf("slot of %q: got %d, want %d", key, got, want)
		}
	}
}

func TestPatternSlotIsThatOfTheTag(t *testing.T) {
	for pattern, key := range map[string]string{"w*": "", "*{a}": "", "}*{a}b": "", "{a*}": "", "{a}*": "a", "x{a}*[b]?": "a", "plain": "plain",
		"{}*": "", "x?{a}": "", `\{a}b`: "", "{a}b": "a", "#": "#", "{a}": "a"} {
		want := NoSlot
		if key != "" {
			want = KeySlot([]byte(key))
		}
		if got := PatternSlot([]byte(pattern)); got != want {
			t.Errorf("slot of %q: got %d, want %d", pattern, got, want)
		}
	}
}

// The tags are those that Valkey 9.1 puts into cursors of CLUSTERSCAN.
func TestTagsHashToTheirSlots(t *testing.T) {
	for slot := range Slots {
		if tag := SlotTag(slot); KeySlot([]byte(tag)) != slot {
			t.Fatalf("slot %d has the tag %q of slot %d", slot, tag, KeySlot([]byte(tag)))
		}
	}
	for slot, want := range map[int]string{0: "06S", 1: "Qi", 2: "5L5", 5: "460", 88: "aUo", 100: "0or", 16287: "x", 16383: "6ZJ"} {
		if got := SlotTag(slot); got != want {
			t.Errorf("slot %d has the tag %q, want %q", slot, got, want)
		}
	}
}
