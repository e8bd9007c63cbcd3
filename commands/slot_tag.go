package commands

import "sync"

// tagLetters are what tags are made of, in their order.
const tagLetters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// SlotTag returns a short text that hashes to a slot: the shortest one, and of these the first by the order of digits, small and
// capital letters, as in Valkey.
func SlotTag(slot int) string { return slotTags()[slot] }

// slotTags are computed when the first one is asked for, which takes some milliseconds.
var slotTags = sync.OnceValue(func() (all [Slots]string) {
	for size, left := 1, Slots; left > 0; size++ { // three letters are enough
		eachTag(make([]byte, 0, size), size, func(tag []byte) {
			if at := KeySlot(tag); all[at] == "" {
				all[at] = string(tag)
				left--
			}
		})
	}
	return all
})

// eachTag calls f with all texts of a size that begin with tag, in their order.
func eachTag(tag []byte, size int, f func(tag []byte)) {
	if len(tag) == size {
		f(tag)
		return
	}
	for i := range len(tagLetters) {
		eachTag(append(tag, tagLetters[i]), size, f)
	}
}
