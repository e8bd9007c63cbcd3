package commands

// ArraySize is how many bytes the head of an array of n elements takes in a request or a reply.
func ArraySize(n int) int {
	digits := 1
	for ; n >= 10; n /= 10 {
		digits++
	}
	return len("*\r\n") + digits
}

// BulkSize is how many bytes a string of n bytes takes there.
func BulkSize(n int) int { return ArraySize(n) + n + len("\r\n") }
