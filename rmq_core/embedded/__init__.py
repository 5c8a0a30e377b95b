"""Real servers out of installed packages, for development, the demo and tests.

``redis.EmbeddedRedis`` · ``redis_cluster.EmbeddedCluster`` · ``redis_sentinel.EmbeddedSentinel`` ·
``zookeeper.EmbeddedZooKeeper`` and ``EmbeddedEnsemble`` · ``postgres.EmbeddedPostgres`` ·
``mariadb.EmbeddedMariaDB``. Each is a context manager over ``start()`` and ``close()``, has ``kill()`` and
``restart()`` for faults, keeps its port and data over a restart, and ends with this process however that ends.
"""
