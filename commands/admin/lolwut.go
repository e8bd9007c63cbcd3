package admin

import (
	"fmt"

	"github.com/vigildb/vigil/commands"
)

const (
	cityWidth  = 64
	cityHeight = 14
	cityBase   = 5 // lowest roof of the tallest houses
)

// lolwut draws houses under stars. In some window a light is on: somebody keeps
// vigil.
func lolwut(c *commands.Ctx) error {
	if c.Args.Is("VERSION") {
		c.Args.Int()
		for c.Args.More() {
			c.Args.Int()
		}
	}
	if err := c.Args.Err(); err != nil {
		return err
	}
	grid := sky(c.Host.Random)
	for x := 1; x < cityWidth-6; {
		width := 4 + c.Host.Random(5)
		house(grid, x, min(width, cityWidth-1-x), 2+c.Host.Random(cityHeight-cityBase), c.Host.Random)
		x += width + c.Host.Random(2)
	}
	text := make([]byte, 0, (cityWidth+1)*cityHeight+64)
	for _, row := range grid {
		text = append(append(text, row...), '\n')
	}
	text = fmt.Appendf(text, "\nvigil %s, in the manner of Redis ver. %s\n", commands.Version, c.Host.Limits().RedisVersion)
	c.Reply.Verbatim("txt", text)
	return nil
}

func sky(random func(n int) int) [][]byte {
	const stars = "            .        *     '"
	grid := make([][]byte, cityHeight)
	for y := range grid {
		grid[y] = make([]byte, cityWidth)
		for x := range grid[y] {
			grid[y][x] = stars[random(len(stars))]
		}
	}
	return grid
}

// house draws walls, a roof, and windows, a few of them lit.
func house(grid [][]byte, left, width, height int, random func(n int) int) {
	for y := cityHeight - height; y < cityHeight; y++ {
		for x := left; x < left+width; x++ {
			switch {
			case y == cityHeight-height:
				grid[y][x] = '_'
			case x == left || x == left+width-1:
				grid[y][x] = '|'
			case y%2 == 0 && (x-left)%2 == 0 && random(9) == 0:
				grid[y][x] = '#'
			case y%2 == 0 && (x-left)%2 == 0:
				grid[y][x] = '.'
			default:
				grid[y][x] = ' '
			}
		}
	}
}
