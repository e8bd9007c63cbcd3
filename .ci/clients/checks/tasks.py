from celery import Celery

app = Celery("tasks", broker="redis://127.0.0.1:6379/1", backend="redis://127.0.0.1:6379/2")


@app.task
def add(x, y):
    return x + y


@app.task(bind=True, max_retries=3)
def stubborn(self):
    if self.request.retries < 2:
        raise self.retry(countdown=0)
    return self.request.retries


@app.task
def total(numbers):
    return sum(numbers)


def divide(a, b):
    return a / b
