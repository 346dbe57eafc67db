// River on PostgreSQL by its bulk insert: 1,000 jobs a call, from the first insert to the last
// durable completion, in one process with both the inserts and the worker.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

const (
	rows    = 1_000
	workers = 1_024
	timeout = 240 * time.Second
)

type noopArgs struct {
	Number int `json:"number"`
}

func (noopArgs) Kind() string { return "noop" }

type noopWorker struct {
	river.WorkerDefaults[noopArgs]
}

func (*noopWorker) Work(context.Context, *river.Job[noopArgs]) error { return nil }

type measured struct {
	Name    string  `json:"name"`
	Tasks   int     `json:"tasks"`
	Seconds float64 `json:"seconds"`
	Durable bool    `json:"durable"`
	Notes   string  `json:"notes"`
	Rate    float64 `json:"rate"`
}

func main() {
	size := flag.Int("size", 20_000, "jobs")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	seconds, err := measure(ctx, os.Getenv("BENCH_DATABASE"), *size)
	if err != nil {
		log.Fatal(err)
	}
	notes := fmt.Sprintf("%d workers, bulk inserts of %d", workers, rows)
	line := measured{"river-bulk", *size, seconds, true, notes, float64(*size) / seconds}
	if err := json.NewEncoder(os.Stdout).Encode(line); err != nil {
		log.Fatal(err)
	}
}

func measure(ctx context.Context, url string, size int) (float64, error) {
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return 0, err
	}
	defer pool.Close()
	driver := riverpgxv5.New(pool)
	migrator, err := rivermigrate.New(driver, nil)
	if err != nil {
		return 0, err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return 0, err
	}
	registered := river.NewWorkers()
	river.AddWorker(registered, &noopWorker{})
	client, err := river.NewClient(driver, &river.Config{
		// The least pauses that it allows: the default ones are for saving queries.
		FetchCooldown:     river.FetchCooldownMin,
		FetchPollInterval: river.FetchPollIntervalMin,
		Logger:            slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: workers}},
		Workers:           registered,
	})
	if err != nil {
		return 0, err
	}
	if err := client.Start(ctx); err != nil {
		return 0, err
	}
	time.Sleep(300 * time.Millisecond)
	started := time.Now()
	if err := insert(ctx, client, size); err != nil {
		return 0, err
	}
	ended, err := lastCompletion(ctx, pool, size)
	if err != nil {
		return 0, err
	}
	return ended.Sub(started).Seconds(), client.Stop(ctx)
}

func insert[T any](ctx context.Context, client *river.Client[T], size int) error {
	for first := 0; first < size; first += rows {
		batch := make([]river.InsertManyParams, 0, rows)
		for number := first; number < min(first+rows, size); number++ {
			batch = append(batch, river.InsertManyParams{Args: noopArgs{number}})
		}
		if _, err := client.InsertManyFast(ctx, batch); err != nil {
			return err
		}
	}
	return nil
}

// Asked only once everything is inserted, and not often: counting should slow none of the work.
func lastCompletion(ctx context.Context, pool *pgxpool.Pool, size int) (time.Time, error) {
	for {
		var done int
		row := pool.QueryRow(ctx, "SELECT count(*) FROM river_job WHERE state = 'completed'")
		if err := row.Scan(&done); err != nil {
			return time.Time{}, err
		}
		if done >= size {
			return time.Now(), nil
		}
		time.Sleep(5 * time.Millisecond)
	}
}
