// Package tail keeps a copy of the newest chunks of a journal where the death of the
// process does not reach it: in a file that is mapped into memory. What a process has
// written there is the system's, as soon as the instruction is over and without a call to
// the system, and the next process finds it. It is not made to outlive the machine: after
// another boot the file counts for nothing.
//
//	Read -> chunks of the process before
//	New -> Begin -> Append ... -> Free
//
// The file has slots of one size. A chunk is in one slot, or in several that lie side by
// side. What the file says of a slot is written after the bytes, so that a process may die
// at any instruction:
//
//	0     magic (8) | bytes of a slot (4) | slots (4) | store (16) | boot (16) | crc32c of that (4)
//	4096  for each slot 64 bytes: checksum (4) | bytes of records (4; 0: free)
//	      | number of the chunk (8) | its first record (8) | slots (4) | flags (1)
//	then  the slots, from the next multiple of 4096 on
//
// The checksum is crc32c of the number, first record and slots, and of the records, with the
// flags added to its lowest byte (exclusive or). It is written with the length, in one
// instruction. All numbers are little-endian. The caller serialises all calls of a Tail. A Tail touches
// its file, and nothing else; it knows nothing of what a record says.
//
// Pages of the file count as memory of the process once they were touched. Rest gives those of free slots back.
//
// If the system can no longer back the memory (another process has cut the file, or the
// disk fails under a page that is not in memory), the tail breaks and takes nothing more:
// Begin returns nil, as it does when no slot is free.
package tail
