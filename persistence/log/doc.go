// Package log is a log in files of its own: frames, which are opaque to it, are appended to segments,
// forced to the device, read again from any position on, and dropped from the front.
//
//	Open -> Read ... -> Append, Append -> Flush -> Sync ... -> Trim -> Close
//
// The one idea: each segment says where the one before it ended, and each frame says how much of its
// segment had reached the device when it was made. So what a power failure cut short, which is the end
// of the log, can be told from what the device lost, which is [Damage].
//
// # Files
//
// A segment is a file whose name is its number in ten digits. Numbers rise by one. A segment is
// allocated at once and written once, from its start to its end. When it has been trimmed it becomes a
// spare: it is renamed to "spare-" and its number, and is overwritten as a later segment. Files whose
// names begin with "spare-" are never part of the log, and may be removed while the log is closed.
//
// All numbers are little-endian, all checksums crc32c. The numbers here are on disk and never change.
// The first 4096 bytes of a segment are its head:
//
//	0     magic, "vigillog" (8)
//	8     format, 1 (1)
//	9     flags (1); 1: the segment has one frame, which is longer than a segment is otherwise
//	10    how many bytes are the caller's (2)
//	12    number of the segment (8)
//	20    end of the segment before, as an offset in it (8); 0 in the first one
//	28    store (16)
//	44    the caller's bytes, and zeroes
//	4092  checksum of all that (4)
//
// Frames follow, without gaps:
//
//	0     length of the payload (4)
//	4     how much of the segment was synced when the frame was made (4)
//	8     kind (1), not 0
//	9     checksum of the payload (4)
//	13    checksum of the 13 bytes before (4)
//	17    payload
//
// The second checksum does not begin with 0 but with the checksum of the store and the number of the
// segment (16 + 8 bytes). Two numbers below 2^32 never have the same checksum behind the same store, and the
// checksum of 13 bytes is another one for each value that it begins with. So the frame of a file that is
// recycled is never a frame of the segment that it becomes.
//
// A frame whose payload does not fit into a segment has one of its own, with flag 1, that is as long as
// it needs to be. The checksums of the pieces of the payload follow it, 4 bytes for each MiB and for
// the rest. In the head of the frame is the checksum of these. Thus a reader may check, and pass on,
// one piece after the other.
//
// # Invariants
//
//   - A file has the name of a segment only after its head is on the device, and gets frames only after
//     the name is. So a segment whose head cannot be read is damaged, and a spare has no frame with a
//     number that is still to come.
//   - A segment is synced up to its end before the next one gets its head. So all that is below the end
//     that the next head gives was on the device: what does not decode there is damage. What follows that
//     end is no part of the log, whatever it is.
//   - A frame claims to be synced what was. So if something does not decode, and a head of a frame behind
//     it claims more, it is damage.
//   - After a failed write or sync a segment is never written again by the same process. One that is opened has
//     the bytes written again that may not be on the device, as they are: the process before may have seen a
//     sync fail, after which the system takes them for written.
//   - The last segment has no other name elsewhere: [Log.Checkpoint] copies it, and links the others. What
//     is linked is removed when it is trimmed, and never recycled. Neither is a segment that an earlier
//     process has written, since nobody knows any more whether it is linked.
//   - Nothing that the search for heads of frames finds is behind the end of the log in a segment that is
//     written. See the function continues for the reason.
//
// # Going on after a failure
//
// Frames that are not synced are kept in memory: copies of small payloads, and the caller's own slices of
// larger ones. After a failed write or sync [Log.Repair] begins a segment whose head ends the failed one
// where it was synced, and writes these frames again. A segment that could not be made (a full disk) is
// no such failure: the next Flush tries again.
//
// The package promises that frames which were synced are read again in order, or an error says why not;
// that what is read is what was appended, up to some end; and that the end is behind all that was synced.
// It does not promise that frames are what they were if somebody who knows the identity of the store
// wrote them: checksums find accidents only.
//
// # Who may call what
//
// All methods may be called by any goroutine. Append does no I/O, and waits for none. Flush, Repair and
// Close exclude each other; Sync may run while others append and flush, and waits only while a segment is
// made. Trim and the making of a segment exclude each other; Checkpoint puts Trim off. Readers wait for
// nobody. The directory belongs to one Log at a time: the caller has a lock for that. A [Config.FS] that
// hides failures, as package fence does, would hide them from the log too: it needs the one below.
//
// The caller records two things and gives both to Open: the position to which the log is to be trimmed, before
// Trim; and how far a segment is synced, after a sync and before anything relies on it. Without the second
// the log may lose its end and nobody notices.
package log
