"""What an installation's operator needs: health, logs, metrics, backups. Above all apps, whose rows it counts."""
